"""Names of the topic and the service of permits, below each robot's name."""

REQUESTS = "permit_requests"
"""Topic, latched, of the requests that wait now (coterie_msgs/PermitRequests)."""
ANSWER = "answer_permit"
"""Service that takes a person's signed answer (coterie_msgs/AnswerPermit)."""
