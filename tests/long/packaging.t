# packaging.t - recipes and workflow files: run their commands, and parse what only their tools can run.
. "$srcdir/tests/cli/lib.sh"
. "$srcdir/tests/long/tools.sh"

# Bioconda: the recipe, its script and its tests, with this machine's compiler and libraries instead of
# conda's.
T 'make dist' make_dist
tarball=$(ls chordseq-*.tar.xz)
version=${tarball#chordseq-} version=${version%.tar.xz}
T 'the recipe of a release' "$srcdir/packaging/bioconda/recipe" https://example.org \
    "https://example.org/$tarball" "$tarball" recipe
T 'the recipe has no placeholder left' sh -c '! grep -n "@[A-Z]" recipe/meta.yaml'
T 'the recipe needs a release tarball' sh -c '! "$1" a b README.md x 2> /dev/null' - "$srcdir/packaging/bioconda/recipe"
# As conda-build reads it: Jinja, then YAML; its functions are stubs.
cat > read.py <<'END'
import hashlib, re, sys
import jinja2, yaml
text = "\n".join(l for l in open("recipe/meta.yaml") if "# [osx" not in l)
text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text).render(
    compiler=lambda x: x + "-compiler", stdlib=lambda x: x + "-stdlib", pin_subpackage=lambda x, max_pin: x)
r = yaml.safe_load(text)
assert r["package"] == {"name": "chordseq", "version": sys.argv[1]}
assert r["source"]["sha256"] == hashlib.sha256(open(sys.argv[2], "rb").read()).hexdigest()
assert r["build"]["number"] == 0 and r["build"]["run_exports"] == ["chordseq"]
assert set(r["requirements"]) == {"build", "host", "run"}
assert {"c-compiler", "c-stdlib"} <= set(r["requirements"]["build"])     # Bioconda's linter wants both
assert r["about"]["license"] == "MIT" and r["about"]["license_file"] == "COPYING"
assert len(r["about"]["summary"]) < 100 and r["about"]["home"] and r["test"]["commands"]
open("tests.sh", "w").write("set -eux\n" + "\n".join(r["test"]["commands"]) + "\n")
END
# build_and_test: as conda-build does, without its environments
build_and_test()
(
    PREFIX=$tmp/prefix CPU_COUNT=$(nproc)
    export PREFIX CPU_COUNT
    tar -xf "$tarball" && cd "chordseq-$version" && bash ../recipe/build.sh &&
        cd "$tmp" && PATH=$PREFIX/bin:$PATH bash tests.sh
)
if python3 -c 'import jinja2, yaml' 2> /dev/null; then
    T 'the recipe is valid' python3 read.py "$version" "$tarball"
    T "the recipe's script builds and its tests pass" build_and_test
else
    S 'the recipe is valid' 'no jinja2 and yaml in python3'
fi
# The split recipe, as rattler-build renders it without a channel.
cat > render.py <<'END'
import sys
import rattler_build as r
found = [v.recipe for v in r.Stage0Recipe.from_file(sys.argv[1]).render(
    r.VariantConfig.from_yaml("c_compiler: [gcc]\nc_stdlib: [sysroot]"))]
assert [d.package.name for d in found] == ["chordseq", "chordseq-python"]
assert {str(d.package.version) for d in found} == {sys.argv[2]}
END
if python3 -c 'import rattler_build' 2> /dev/null; then
    T 'the recipe of two conda packages' python3 render.py "$srcdir/packaging/conda/recipe.yaml" "$version"
else
    S 'the recipe of two conda packages' 'no py-rattler-build in python3'
fi
T 'build.sh is valid bash' bash -n "$srcdir/packaging/bioconda/build.sh"

# Without these options configure omits missing libraries silently; it ignores unknown options.
"$srcdir/configure" --help > help
for f in $(cd "$srcdir" && echo packaging/bioconda/build.sh packaging/conda/recipe.yaml packaging/docker/Dockerfile* \
    packaging/apptainer/*.def debian/rules); do
    case $f in *.dockerignore) continue ;; esac
    [ -e "$srcdir/$f" ] || continue             # a release has no folder debian
    T "$f configures with all libraries" sh -c 'set -- $(grep -oE -- "--with(out)?-[a-z-]+" "$1") &&
        for o in --with-lapack --with-libdeflate "$@"; do
            case " $* " in *" $o "*) ;; *) echo "no $o"; exit 1 ;; esac
            grep -qE -- "--with(out)?-${o#--with*-}(=| |\\[|\$)" help || { echo "no option $o"; exit 1; }
        done' - "$srcdir/$f"
done

# Images, and workflow files of GitHub.
in_tree() (cd "$srcdir" && "$@")
with hadolint T 'hadolint' in_tree hadolint packaging/docker/Dockerfile packaging/docker/Dockerfile.cuda \
    workflows/multiqc/Dockerfile
images=$(in_tree sh -c 'echo packaging/docker/Dockerfile packaging/docker/Dockerfile.cuda packaging/apptainer/*.def')
for f in $(in_tree sh -c 'echo packaging/apptainer/*.def'); do
    with spython T "spython reads $f" in_tree spython recipe --parser singularity --writer singularity "$f"
done
# Images install all build dependencies.
. "$srcdir/tests/debian.sh"
for f in $images; do
    missing=$(for need in $build_needs lapack=liblapack-dev deflate=libdeflate-dev; do
        grep -qw -- "${need##*=}" "$srcdir/$f" || echo "${need##*=}"; done)
    T "$f installs all build dependencies${missing:+ except} $missing" test -z "$missing"
    T "$f installs certificates, for URLs" grep -qw ca-certificates "$srcdir/$f"
done
with check-jsonschema T 'workflows are valid' in_tree check-jsonschema \
    --builtin-schema vendor.github-workflows .github/workflows/ci.yml .github/workflows/packages.yml
git_first() { awk '/apt-get.* git$/ { n++ } /uses: actions\/checkout/ && !n { exit 1 } END { exit !n }' "$srcdir/.github/workflows/$1.yml"; }
for f in ci packages; do T "$f.yml installs git before checkout, which has no history without it" git_first $f; done
lacks=$(for p in dpkg-dev debootstrap gcc-12 gcc-12-aarch64-linux-gnu git libtool python3-jinja2 python3-pip \
    python3-venv python3-yaml qemu-user safe.directory; do
    grep -qE "(^| )$p( |\$)" "$srcdir/.github/workflows/packages.yml" || printf '%s ' $p; done)
T "packages.yml has the needs of tests/long${lacks:+ except} $lacks" test -z "$lacks"
with zizmor T 'zizmor' in_tree zizmor --offline .github/workflows
stages=$(sed -n 's/^stages=${\*:-\(.*\)}$/\1/p' "$srcdir/run-tests")
T 'the stages are those of run-tests' grep -qF "stage: [$(echo "$stages" | sed 's/ /, /g')]" \
    "$srcdir/.github/workflows/ci.yml"
