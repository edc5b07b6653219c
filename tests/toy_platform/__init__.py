"""A chat platform in little: threads of plain lines, with buttons and forms, enough to play the story of a working day.

What it leaves out, and a real platform has: a connection with the catch-up, settings and wiring; the buttons in `Rows`,
the choices of `Chooser` and of `Controls.earlier`, Reply and Another number…; the presses that show more; the forms but
for new, edit and reject; the digests of unchanged messages; most of `forget_shown`; the names and kinds of people.
"""
