"""gpudoctor data: the generated images that `gpudoctor bench` trains on."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated

import typer

from gpudoctor.cli.images_bar import images_bar
from gpudoctor.cli.options import PythonOption
from gpudoctor.cli.output import put, usage_error

if TYPE_CHECKING:
    from gpudoctor.benchmark.image_cache import CachedSet

data_app = typer.Typer(
    help="Make, list or remove the generated images that `gpudoctor bench` trains on.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@data_app.command()
def make(
    *,
    images: Annotated[int, typer.Option(min=2, help="Images to train on, half cats, half dogs.")] = 640,
    validation: Annotated[int, typer.Option(min=0, help="Images to validate with.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other images.")] = 0,
    python: PythonOption = None,
) -> None:
    """Make the images now, so that a later `gpudoctor bench` need not; by default those that it asks for by default.

    Example:

      gpudoctor data make --images 25000

    Exit status: 0 made, or already there; 2 wrong usage, or they cannot be made; 130 interrupted.
    """
    from gpudoctor.benchmark.data import DataError, Spec, ensure
    from gpudoctor.facts.host import Host
    from gpudoctor.facts.probes.target import choose_target

    host = Host()
    target = choose_target(host, python)
    if target.problem:
        usage_error(target.problem)
    try:
        with images_bar() as show:
            data = ensure(host, target.path, Spec(images=images, validation=validation, seed=seed), show)
    except DataError as exc:
        usage_error(str(exc))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    count = len(data.train) + len(data.validation)
    put(f"{count:,} images, {data.bytes / 1e6:,.1f} MB, in {data.folder}\n{data.how}\npixels: {data.hash}\n")


@data_app.command("list")
def list_sets() -> None:
    """List the generated images in the cache, the most recently used first. Exit status: 0."""
    from gpudoctor.benchmark.data import list_cached

    sets = list_cached()
    for item in sets:
        put(f"{item.folder}: {describe(item)}\n")
    put(f"{len(sets)} set(s), {sum(item.bytes for item in sets) / 1e6:,.1f} MB\n")


@data_app.command("clear")
def clear_sets() -> None:
    """Remove all generated images from the cache. Exit status: 0 removed, or none there; 2 they cannot be removed."""
    from gpudoctor.benchmark.data import DataError, clear

    try:
        removed = clear()
    except DataError as exc:
        usage_error(str(exc))
    put(f"removed {len(removed)} set(s), {sum(item.bytes for item in removed) / 1e6:,.1f} MB\n")


def describe(item: CachedSet) -> str:
    """Return one set's size, age and settings."""
    used = dt.datetime.fromtimestamp(item.used).astimezone().strftime("%Y-%m-%d %H:%M")
    if item.manifest is None:
        return f"unfinished, {item.bytes / 1e6:,.1f} MB, last changed {used}"
    seed = item.manifest.spec.get("seed")
    return f"{item.manifest.count:,} images, {item.bytes / 1e6:,.1f} MB, seed {seed}, last used {used}"
