"""Governance and permissions of DDS security as XML, as the OMG's DDS-Security 1.1 has them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from xml.etree import ElementTree

from coterie_bringup.security.rights import Rights

LAST_DOMAIN = 232
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_SCHEMAS = "http://www.omg.org/spec/DDS-SECURITY/20170901/omg_shared_ca_{}.xsd"
_TIME = "%Y-%m-%dT%H:%M:%S"


def governance() -> str:
    """Return the rules of the domain: only who has a key takes part, and all is encrypted.

    They hold in every domain: what keeps strangers out is the key, not the number.
    """
    root = _root("governance")
    rule = _child(_child(root, "domain_access_rules"), "domain_rule")
    _domains(rule)
    _child(rule, "allow_unauthenticated_participants", "false")
    _child(rule, "enable_join_access_control", "true")
    _child(rule, "discovery_protection_kind", "ENCRYPT")
    _child(rule, "liveliness_protection_kind", "ENCRYPT")
    _child(rule, "rtps_protection_kind", "SIGN")
    topics = _child(_child(rule, "topic_access_rules"), "topic_rule")
    _child(topics, "topic_expression", "*")
    for what in ("discovery_protection", "liveliness_protection"):
        _child(topics, f"enable_{what}", "true")
    for what in ("read", "write"):
        _child(topics, f"enable_{what}_access_control", "true")
    for what in ("metadata", "data"):
        _child(topics, f"{what}_protection_kind", "ENCRYPT")
    return _text(root)


def permissions(subject: str, rights: Rights, begin: datetime, end: datetime) -> str:
    """Return what the holder of a certificate may do; everything else is denied.

    Args:
        subject: Name in the certificate, such as `CN=/robots/rover`.
        rights: DDS topics that are published and read.
        begin: From when on they hold, in UTC.
        end: Until when.
    """
    root = _root("permissions")
    grant = _child(_child(root, "permissions"), "grant")
    grant.set("name", subject.removeprefix("CN="))
    _child(grant, "subject_name", subject)
    validity = _child(grant, "validity")
    _child(validity, "not_before", begin.strftime(_TIME))
    _child(validity, "not_after", end.strftime(_TIME))
    rule = _child(grant, "allow_rule")
    _domains(rule)
    _topics(_child(rule, "publish"), rights.publish)
    _topics(_child(rule, "subscribe"), rights.subscribe)
    _child(grant, "default", "DENY")
    return _text(root)


def validity(text: str) -> tuple[datetime, datetime]:
    """Return from when to when (UTC) permissions hold, from their XML.

    Raises:
        ValueError: It is no such XML.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"is no XML: {error}") from None
    found = [root.findtext(f".//validity/{name}") for name in ("not_before", "not_after")]
    if None in found:
        raise ValueError("has no validity")
    begin, end = (datetime.strptime(str(one), _TIME).replace(tzinfo=timezone.utc) for one in found)
    return begin, end


def _root(kind: str) -> ElementTree.Element:
    root = ElementTree.Element("dds")
    root.set("xmlns:xsi", _XSI)
    root.set("xsi:noNamespaceSchemaLocation", _SCHEMAS.format(kind))
    return root


def _child(parent: ElementTree.Element, name: str, text: str | None = None) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, name)
    child.text = text
    return child


def _domains(rule: ElementTree.Element) -> None:
    span = _child(_child(rule, "domains"), "id_range")
    _child(span, "min", "0")
    _child(span, "max", str(LAST_DOMAIN))


def _topics(rule: ElementTree.Element, names: Iterable[str]) -> None:
    topics = _child(rule, "topics")
    for name in names:
        _child(topics, "topic", name)


def _text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + ElementTree.tostring(root, encoding="unicode") + "\n"
