"""Why a sentence marks what it marks: its words, what happens without each, and what the memories hold."""
