"""`./coterie annotate`: what a map's objects answer to queries, written down in the browser."""

from __future__ import annotations

from pathlib import Path

from coterie_console.site import PageError
from coterie_world.scene import SceneError
from research.annotate.page import AnnotatePage
from research.annotate.session import AnnotationSession
from semantic_mapper.files import load_map


def default_files(map_file: Path) -> tuple[Path, Path]:
    """Return where queries and answers of a map are: in its data set, or beside it.

    In a data set (`semantic_maps/NAME.json`) they are `queries.yaml` and `responses/NAME.json`.
    """
    folder = map_file.resolve().parent
    if folder.name == "semantic_maps":
        return folder.parent / "queries.yaml", folder.parent / "responses" / map_file.name
    return (
        map_file.with_name(f"{map_file.stem}.queries.yaml"),
        map_file.with_name(f"{map_file.stem}.responses.json"),
    )


def open_page(
    map_file: Path, queries: Path | None, out: Path | None, port: int | None
) -> AnnotatePage:
    """Read all files and serve the page.

    Args:
        map_file: Any kind of map.
        queries: YAML with the queries; None: `default_files`.
        out: JSON with the answers; None: `default_files`.
        port: Where to serve; None: the first free one from 8080 on.

    Raises:
        PageError: The map cannot be read, or the port cannot be had.
        FileProblem: The queries or the answers cannot be used.
    """
    try:
        scene = load_map(map_file)
    except SceneError as error:
        raise PageError(str(error)) from None
    default_queries, default_out = default_files(map_file)
    session = AnnotationSession.open(scene, queries or default_queries, out or default_out)
    cloud = map_file.with_suffix(".ply")
    return AnnotatePage(session, map_file.name, port, cloud if cloud.is_file() else None)


def annotate(
    map_file: Path, *, queries: Path | None, out: Path | None, port: int | None, show: bool
) -> None:
    """Serve the annotation page until Ctrl-C.

    Args:
        map_file: Any kind of map.
        queries: YAML with the queries.
        out: JSON with the answers.
        port: Where to serve.
        show: Open the browser.

    Raises:
        PageError: The map cannot be read, or the port cannot be had.
        FileProblem: The queries or the answers cannot be used.
    """
    default_queries, default_out = default_files(map_file)
    queries, out = queries or default_queries, out or default_out
    page = open_page(map_file, queries, out, port)
    done, total = page.session.progress()
    print(f"{map_file}: {len(page.scene.objects)} objects")
    for what, file in (("queries", queries), ("answers", out)):
        print(f"{what}: {file}" + ("" if file.exists() else " (made with the first change)"))
    print(f"{done} of {total} queries answered")
    for problem in [*page.problems, *page.session.problems()]:
        print(f"  {problem}")
    print(f"page: {page.page.url}   (Ctrl-C ends it; all changes are saved at once)", flush=True)
    try:
        page.page.run(show)
    finally:
        page.close()
    done, total = page.session.progress()
    print(f"\n{done} of {total} queries answered; {out}")
