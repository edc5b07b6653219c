"""What moves agents on. An engine only wakes: the database knows what is to be done."""
