"""The console of a running team: what is known of it, and the page that shows it."""
