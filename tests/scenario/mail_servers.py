"""A mail server of this machine for tests: as much of SMTP and IMAP as Python's clients use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

SMTP_ANSWERS = {"EHLO": "250 tests", "HELO": "250 tests", "MAIL": "250 OK", "RCPT": "250 OK", "QUIT": "221 bye"}


@dataclass(slots=True)
class MailServer:
    """Takes mail by SMTP and gives it by IMAP. `mails`: all of them, as they were sent."""

    mails: list[str] = field(default_factory=list)
    smtp_port: int = 0
    imap_port: int = 0

    async def serve_smtp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 tests\r\n")
        while line := (await reader.readline()).decode().strip():
            verb = line.partition(" ")[0].upper()
            if verb == "DATA":
                writer.write(b"354 go on\r\n")
                self.mails.append((await reader.readuntil(b"\r\n.\r\n")).decode())
                writer.write(b"250 taken\r\n")
            else:
                writer.write(f"{SMTP_ANSWERS.get(verb, '502 no')}\r\n".encode())
        writer.close()

    async def serve_imap(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"* OK tests\r\n")
        while line := (await reader.readline()).decode().strip():
            tag, verb, *_ = line.split(" ")
            match verb.upper():
                case "CAPABILITY":
                    writer.write(b"* CAPABILITY IMAP4REV1\r\n")
                case "SELECT" | "EXAMINE":
                    writer.write(f"* {len(self.mails)} EXISTS\r\n".encode())
                case "SEARCH":
                    numbers = " ".join(str(number) for number in range(1, len(self.mails) + 1))
                    writer.write(f"* SEARCH {numbers}\r\n".encode())
                case "FETCH":
                    mail = self.mails[int(line.split(" ")[2]) - 1].encode()
                    writer.write(b"* 1 FETCH (RFC822 {%d}\r\n%b)\r\n" % (len(mail), mail))
                case _:
                    pass
            writer.write(f"{tag} OK done\r\n".encode())
        writer.close()


@asynccontextmanager
async def mail_server() -> AsyncIterator[MailServer]:
    mail = MailServer()
    smtp = await asyncio.start_server(mail.serve_smtp, "127.0.0.1", 0)
    imap = await asyncio.start_server(mail.serve_imap, "127.0.0.1", 0)
    mail.smtp_port, mail.imap_port = (each.sockets[0].getsockname()[1] for each in (smtp, imap))
    try:
        yield mail
    finally:
        for each in (smtp, imap):
            each.close()
