"""What the product promises: a key and a sentence each. A test that shows one carries `@pytest.mark.proves(key)`.

`tests/architecture/test_house.py` holds both directions: no promise without a test, no key that is not here.
"""

PROMISES: dict[str, str] = {
    "budget:stop": "A model call that would exceed the budget is not made; the agent pauses and says so.",
    "crash:asks": "A command that may have run when the process died is put to people instead of run again.",
    "decide:edit": "An edited command runs with the changed arguments, and the agent is told who changed them.",
    "decide:reject": "A rejected command does not run, and its reason reaches the agent.",
    "decide:twice": "A second decision is refused with who decided first and when.",
    "delivery:once": "A click that the platform delivers twice takes effect once.",
    "endpoint:goal": "An agent whose model is asked through the real SDK over HTTP works to the end of its goals.",
    "endpoint:key": "A key that the endpoint refuses pauses the agent, which says what to set; no page or file shows it.",
    "endpoint:plain": "An endpoint that takes no JSON Schema is asked for plain JSON, and not asked twice to find out.",
    "lease:counts": "Approve ×N runs this command and the next N−1 unasked, then people are asked again.",
    "lease:errors": "A lease ends after two commands in a row failed, and the thread is told.",
    "lease:objection": "A word from somebody who may not decide ends a lease.",
    "lease:same-call": "A lease ends at the third time of the same command with the same arguments.",
    "logs:secrets": "A configured secret is hidden wherever it stands in a log line.",
    "loop:asks": "Nothing runs before somebody signs it off.",
    "loop:goal": "An agent whose commands are approved goes on by itself to the end of its goals.",
    "model:later": "A busy model is asked again at the time it named, and nothing is lost meanwhile.",
    "page:text": "What the model writes is shown as text and never becomes part of the page.",
    "path:outside": "A path outside the agent's workspace is never put before people.",
    "reply:note": "A reply from somebody who may not decide is kept as a note and reaches the agent once.",
    "reply:open": "A reply to an open proposal, from somebody who may decide, rejects it with that text.",
    "reply:unusable": "Three unusable replies of the model pause the agent; its last command is never run again.",
    "rights:kinds": "Guests, people from outside and bots may not approve.",
    "rights:owner": "Where only the owner decides, nobody else does.",
    "settings:fault": "A wrong setting is told in one line: the variable, what is wrong and an example.",
    "settings:secrets": "What is said about a wrong setting never shows its value.",
    "shown:changed": "A write to a file that changed since it was shown is shown again instead of run.",
    "stop:open": "Stop withdraws the open proposal, and Resume thinks anew.",
    "stop:restart": "What people were asked when the program was told to end is asked, once, when it runs again.",
    "story:surfaces": "The same story, from form to finished goal, can be played on every surface.",
    "thread:gone": "An agent whose thread is gone pauses, and Resume gives it another.",
    "web:token": "A page that other machines can reach does not start without a token of 16 characters.",
}
