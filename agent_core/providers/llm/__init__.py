"""Language models behind endpoints: one client, a dialect for each API, tokenizers, prices."""
