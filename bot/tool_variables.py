"""The documentation of the environment variables for tools: programs, the web, images, audio and posts."""

from functools import partial

from bot.variable_doc import KEY, WEB_ADDRESS, Variable

programs = partial(Variable, section="Programs of agents")
reach = partial(Variable, section="The web")
media = partial(Variable, section="Pictures and sound")
posts = partial(Variable, section="Posts on X")
TOOLS = (
    programs(
        name="EXECUTE_LOCAL_COMMANDS",
        meaning="Agents may propose programs and shell lines. These run only in a sandbox.",
        rule="true or false",
        default="false",
        example="true",
    ),
    programs(
        name="SANDBOX",
        meaning="Where programs run. Docker requires a daemon that this process may use.",
        rule="bubblewrap or docker",
        default="bubblewrap",
        example="docker",
    ),
    programs(
        name="SANDBOX_IMAGE",
        meaning="The image for programs with SANDBOX=docker. It must contain a shell and python3.",
        rule="the name of an image",
        default="python:3.12-slim",
        example="python:3.13-slim",
    ),
    reach(
        name="ALLOW_DOWNLOADS",
        meaning="Agents may propose to download files.",
        rule="true or false",
        default="false",
        example="true",
    ),
    reach(
        name="ALLOW_INTERNAL_HOSTS",
        meaning="The hosts inside your network that agents may reach. All others are closed to them.",
        rule="host names, addresses or networks with commas between them",
        default="none",
        example="wiki.intern.example.com,10.20.0.0/16",
    ),
    media(
        name="IMAGE_MODEL",
        meaning="The model of the OpenAI-compatible endpoint that draws pictures.",
        rule="a model name",
        default="gpt-image-2.5-flare at OpenAI, else no pictures",
        example="gpt-image-2.5-flare",
    ),
    media(
        name="AUDIO_MODEL",
        meaning="The model of the OpenAI-compatible endpoint that transcribes audio files.",
        rule="a model name",
        default="gpt-transcribe at OpenAI, else no transcripts",
        example="gpt-transcribe",
    ),
    media(
        name="SPEECH_MODEL",
        meaning="The model of the OpenAI-compatible endpoint that speaks audio notes.",
        rule="a model name",
        default="no audio notes",
        example="gpt-4o-mini-tts",
    ),
    media(
        name="SD_WEBUI_URL",
        meaning="A Stable Diffusion WebUI with its API switched on. It then draws the pictures.",
        rule=WEB_ADDRESS,
        default="IMAGE_MODEL draws pictures",
        example="http://127.0.0.1:7860",
    ),
    media(
        name="SD_WEBUI_AUTH",
        meaning="User and password of that WebUI, if it requires them.",
        rule="a user, a colon and a password, without blanks",
        default="none",
        example="user:password",
    ),
    media(
        name="HUGGINGFACE_API_TOKEN",
        meaning="The key of Hugging Face's inference API, for the two models below.",
        rule=KEY,
        default="Hugging Face is off",
        example="hf_your-token",
    ),
    media(
        name="HUGGINGFACE_API_URL",
        meaning="Another address of that API, such as a proxy or your own endpoint.",
        rule=WEB_ADDRESS,
        default="Hugging Face's own",
        example="https://inference.example.com",
    ),
    media(
        name="HUGGINGFACE_IMAGE_MODEL",
        meaning="The model at Hugging Face that draws pictures, instead of IMAGE_MODEL.",
        rule="a model name",
        default="IMAGE_MODEL draws pictures",
        example="stabilityai/stable-diffusion-3.5-large",
    ),
    media(
        name="HUGGINGFACE_AUDIO_MODEL",
        meaning="The model at Hugging Face that transcribes audio files, instead of AUDIO_MODEL.",
        rule="a model name",
        default="AUDIO_MODEL transcribes",
        example="openai/whisper-large-v3",
    ),
    posts(
        name="X_API_KEY",
        meaning="The API key of an app on X. Agents may propose posts if all four keys are set.",
        rule=KEY,
        default="no posts",
        example="your-api-key",
    ),
    posts(
        name="X_API_SECRET",
        meaning="The secret of that API key.",
        rule=KEY,
        default="no posts",
        example="your-api-secret",
    ),
    posts(
        name="X_ACCESS_TOKEN",
        meaning="The access token of the account that posts.",
        rule=KEY,
        default="no posts",
        example="your-access-token",
    ),
    posts(
        name="X_ACCESS_TOKEN_SECRET",
        meaning="The secret of that access token.",
        rule=KEY,
        default="no posts",
        example="your-access-token-secret",
    ),
    posts(
        name="X_API_URL",
        meaning="Another address of X's API, such as a proxy.",
        rule=WEB_ADDRESS,
        default="https://api.twitter.com",
        example="https://x.proxy.example.com",
    ),
)
