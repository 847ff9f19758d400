"""Builds program and library with configure and make, and puts both into the wheel.

The source tree lies two folders up, or in `source` in an sdist. `CHORDSEQ_BUILD` names a build folder to
install from instead of building; `CHORDSEQ_CONFIGURE` adds options of configure; `CHORDSEQ_LICENCES` names a
folder with the licences of libraries that are linked statically.
"""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.sdist import sdist
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "source" if (HERE / "source").is_dir() else HERE.parent.parent
VERSION = re.search(r"AC_INIT\(\[chordseq\], \[([^]]*)", (SOURCE / "configure.ac").read_text())[1]
SCRATCH = tempfile.TemporaryDirectory(prefix="chordseq-wheel.")
SCRATCH_DIR = Path(SCRATCH.name)


def compiler_environment():
    """Flags so that a wheel has the same bits wherever it is built: no name of a folder goes into it."""
    flags = f"-O2 -ffile-prefix-map={SOURCE}=."
    return {"CFLAGS": flags, **os.environ}


def commit_date():
    """Seconds; None: not in a clone."""
    if not (SOURCE / ".git").exists():
        return None
    found = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=SOURCE, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, encoding="ascii")
    return found.stdout.strip() or None


def configured():
    """A configured build folder."""
    if "CHORDSEQ_BUILD" in os.environ:
        return Path(os.environ["CHORDSEQ_BUILD"])
    build = SCRATCH_DIR / "build"
    if not build.is_dir():
        if not (SOURCE / "configure").exists():
            subprocess.run(["./bootstrap"], cwd=SOURCE, check=True)
        build.mkdir()
        # LAPACK's libraries are three times as large as all the rest; `factorize` alone calls it.
        subprocess.run([SOURCE / "configure", "--without-cuda", "--without-lapack",
                        *shlex.split(os.environ.get("CHORDSEQ_CONFIGURE", ""))],
                       cwd=build, check=True, env=compiler_environment())
    return build


def install(prefix):
    """`make install` into the folder prefix, stripped."""
    build = configured()
    subprocess.run(["make", f"-j{os.cpu_count()}"], cwd=build, check=True)
    subprocess.run(["make", "install", f"prefix={prefix}", f"bindir={prefix}/bin",
                    f"libdir={prefix}/lib", f"datadir={prefix}/share",
                    f"mandir={prefix}/share/man"], cwd=build, check=True, stdout=subprocess.DEVNULL)
    for binary in (prefix / "bin/chordseq", next((prefix / "lib").glob("libchordseq.so.*.*"))):
        subprocess.run([os.environ.get("STRIP", "strip"), "--strip-unneeded", binary], check=True)


STAGE = SCRATCH_DIR / "stage"


def shared_files():
    """Manual pages and completions, which go to the environment's share; [(folder, files)]."""
    found = {}
    for folder in ("share/man", "share/bash-completion", "share/zsh", "share/fish"):
        for path in sorted((STAGE / folder).rglob("*")):
            if path.is_file():
                found.setdefault(str(path.parent.relative_to(STAGE)), []).append(str(path))
    return sorted(found.items())


def plain_modes(folder):
    """The modes of a usual umask, whatever that of the clone was."""
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


class Build(build_py):
    """The package's modules, with bin, lib and share beside them."""

    def run(self):
        super().run()
        package = Path(self.build_lib) / "chordseq"
        install(STAGE)
        library = next((STAGE / "lib").glob("libchordseq.so.*.*"))
        for source, to in ((STAGE / "bin/chordseq", "bin/chordseq"),
                           (library, "lib/libchordseq.so.0"),
                           (STAGE / "share/chordseq", "share/chordseq")):
            target = package / to
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copy2(source, target)
        licences = package / "licences"
        licences.mkdir(exist_ok=True)
        shutil.copy2(SOURCE / "COPYING", licences / "chordseq")
        if "CHORDSEQ_LICENCES" in os.environ:
            shutil.copytree(os.environ["CHORDSEQ_LICENCES"], licences, dirs_exist_ok=True)
        plain_modes(package)
        plain_modes(STAGE)
        self.distribution.data_files = shared_files()


class Wheel(bdist_wheel):
    """No extension module: one wheel for every Python, but for one platform."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class Source(sdist):
    """With the release's source tree in `source`."""

    def make_release_tree(self, base_dir, files):
        # Before base_dir exists: it is within packaging, which `make distdir` copies as a whole.
        tree = SCRATCH_DIR / "source"
        subprocess.run(["make", "distdir", f"distdir={tree}"], cwd=configured(), check=True)
        super().make_release_tree(base_dir, files)
        shutil.move(tree, Path(base_dir) / "source")


class Binary(Distribution):
    def has_ext_modules(self):
        return True


os.chdir(HERE)
os.umask(0o022)
date = commit_date()
if date:                         # of the files in the wheel
    os.environ.setdefault("SOURCE_DATE_EPOCH", date)
setup(version=VERSION, packages=["chordseq"], package_data={"chordseq": ["py.typed"]},
      distclass=Binary, data_files=[("share/man", [])],
      cmdclass={"build_py": Build, "bdist_wheel": Wheel, "sdist": Source},
      # Nothing is written into the source tree.
      options={"build": {"build_base": str(SCRATCH_DIR / "python")},
               "egg_info": {"egg_base": str(SCRATCH_DIR)}})
