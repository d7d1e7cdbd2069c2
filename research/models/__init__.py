"""`./coterie model check`: is a language model fit for this stack?"""
