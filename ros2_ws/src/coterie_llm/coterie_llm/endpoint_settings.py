"""Settings that lead to an endpoint: its URL is one, and keys never stand in a file."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

_KEY_FIELDS = re.compile(
    r"^(api_?|access_?|secret_?|auth_?)?(key|token|secret|password|passwd|authorization|bearer)s?$",
    re.IGNORECASE,
)
# What keys look like: a known prefix, or one long run of mixed characters.
_LOOKS_LIKE_KEY = re.compile(
    r"\b(sk|pk|rk|gsk|xai|hf|r8|nvapi|key)[-_][A-Za-z0-9_\-]{12,}|\bAIza[A-Za-z0-9_\-]{20,}"
    r"|\bBearer\s+\S{8,}"
)
_VARIABLE = re.compile(r"^[A-Z_][A-Z0-9_]{0,63}$")
_HIDDEN = "(hidden)"
_HINT = (
    "keys stay out of files: put it into an environment variable and name that variable in "
    "api_key_env, for example api_key_env: OPENAI_API_KEY"
)


class EndpointSettings(BaseModel):
    """Settings with a `base_url` and an `api_key_env`; refuses keys before anything is shown."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, protected_namespaces=()
    )

    @model_validator(mode="wrap")
    @classmethod
    def _no_keys(cls, data: Any, handler: Any) -> Any:
        """Refuse keys before anything can print them."""
        if not isinstance(data, dict):
            return handler(data)
        problems: list[InitErrorDetails] = []
        for name, value in data.items():
            problem = _key_problem(str(name), value)
            if problem:
                problems.append(
                    {
                        "type": PydanticCustomError(
                            "literal_key", "{problem}", {"problem": problem}
                        ),
                        "loc": (str(name),),
                        "input": _HIDDEN,
                    }
                )
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems, hide_input=True)
        return handler(data)

    @field_validator("base_url", check_fields=False)
    @classmethod
    def _a_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urllib.parse.urlsplit(value)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host, parts = None, urllib.parse.SplitResult("", "", "", "", "")
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError("expected a URL such as http://localhost:11434/v1")
        return value.rstrip("/")


def is_local(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def in_clear(base_url: str) -> bool:
    """Whether a key that goes to this URL can be read by who reads the network on the way."""
    parts = urllib.parse.urlsplit(base_url)
    return parts.scheme == "http" and not is_local(parts.hostname or "")


def _key_problem(name: str, value: Any) -> str:
    """Why a field may hold a key; empty when it does not. Never repeats the value."""
    if _KEY_FIELDS.match(name):
        return f"there is no field '{name}'; {_HINT}"
    if not isinstance(value, str):
        return ""
    if name == "api_key_env" and not _VARIABLE.match(value):
        return (
            "expected the name of an environment variable (capital letters, digits, _), "
            f"not a key; {_HINT}"
        )
    if _LOOKS_LIKE_KEY.search(value):
        return f"this looks like a key; {_HINT}"
    if name == "base_url":
        try:
            parts = urllib.parse.urlsplit(value)
            private = "@" in parts.netloc or bool(parts.query) or bool(parts.fragment)
        except ValueError:
            private = "@" in value or "?" in value
        if private:
            return f"a URL without user, password, query and fragment is expected; {_HINT}"
    return ""
