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
        meaning="Whether agents may propose to run programs and shell lines. They run in a sandbox, or not at all.",
        rule="true or false",
        default="false",
        example="true",
    ),
    programs(
        name="SANDBOX",
        meaning="Where programs run. Docker wants a daemon that this process may use.",
        rule="bubblewrap or docker",
        default="bubblewrap",
        example="docker",
    ),
    programs(
        name="SANDBOX_IMAGE",
        meaning="The image that programs run in with SANDBOX=docker. It must hold a shell and python3.",
        rule="the name of an image",
        default="python:3.12-slim",
        example="python:3.13-slim",
    ),
    reach(
        name="ALLOW_DOWNLOADS",
        meaning="Whether agents may propose to download files.",
        rule="true or false",
        default="false",
        example="true",
    ),
    reach(
        name="ALLOW_INTERNAL_HOSTS",
        meaning="Internal hosts that agents may reach although no address inside your network is open to them.",
        rule="host names, addresses or networks with commas between them",
        default="none",
        example="wiki.intern.example.com,10.20.0.0/16",
    ),
    media(
        name="IMAGE_MODEL",
        meaning="The model of the OpenAI-compatible endpoint that draws pictures.",
        rule="a model name",
        default="gpt-image-2.5-flare at OpenAI; elsewhere no pictures are drawn",
        example="gpt-image-2.5-flare",
    ),
    media(
        name="AUDIO_MODEL",
        meaning="The model of the OpenAI-compatible endpoint that writes down what is said in audio files.",
        rule="a model name",
        default="gpt-transcribe at OpenAI; elsewhere audio is not read",
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
        meaning="A Stable Diffusion WebUI with its API switched on, which then draws the pictures.",
        rule=WEB_ADDRESS,
        default="pictures are drawn by IMAGE_MODEL",
        example="http://127.0.0.1:7860",
    ),
    media(
        name="SD_WEBUI_AUTH",
        meaning="User and password of that WebUI, where it wants them.",
        rule="a user, a colon and a password, without blanks",
        default="none",
        example="user:password",
    ),
    media(
        name="HUGGINGFACE_API_TOKEN",
        meaning="The key of Hugging Face's inference API, for the two models below.",
        rule=KEY,
        default="Hugging Face is not asked",
        example="hf_your-token",
    ),
    media(
        name="HUGGINGFACE_API_URL",
        meaning="Another address of that API: that of a proxy, or of an endpoint of your own.",
        rule=WEB_ADDRESS,
        default="Hugging Face's own",
        example="https://inference.example.com",
    ),
    media(
        name="HUGGINGFACE_IMAGE_MODEL",
        meaning="The model there that draws pictures, in place of IMAGE_MODEL.",
        rule="a model name",
        default="pictures are drawn by IMAGE_MODEL",
        example="stabilityai/stable-diffusion-3.5-large",
    ),
    media(
        name="HUGGINGFACE_AUDIO_MODEL",
        meaning="The model there that reads audio files, in place of AUDIO_MODEL.",
        rule="a model name",
        default="audio is read by AUDIO_MODEL",
        example="openai/whisper-large-v3",
    ),
    posts(
        name="X_API_KEY",
        meaning="The API key of an app on X. All four keys together let agents propose posts.",
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
        meaning="Another address of X's API, such as that of a proxy.",
        rule=WEB_ADDRESS,
        default="https://api.twitter.com",
        example="https://x.proxy.example.com",
    ),
)
