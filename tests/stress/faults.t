# faults.t - fail system calls one by one: a sample, or all with CS_LONG=1 (make check-long).
[ -n "${TMPDIR:-}" ] || [ ! -w /dev/shm ] || { TMPDIR=/dev/shm; export TMPDIR; }
. "$srcdir/tests/cli/lib.sh"

python=${PYTHON:-python3}
command -v "$python" > /dev/null || { S 'calls that fail' "no $python"; exit; }
[ -e "$builddir/tests/stress/faults.so" ] || { S 'calls that fail' 'faults.so is not built'; exit; }
sample='--sample 24'
every='variant:variant to BCF:variant of BCF:classify a BAM'
if nm -D "$builddir/chordseq" | grep -q ' __asan_init'; then
    sample='--sample 8' every=
fi
sample="$sample --moments 3"
[ -z "${CS_LONG:-}" ] || sample='--moments 100'
T 'calls that fail' "$python" "$srcdir/tests/stress/faults.py" $sample --seed 1 --table table
IFS=:
for case in $every; do
    T "every allocation that fails: $case" "$python" "$srcdir/tests/stress/faults.py" --only "$case" --kinds malloc
done
unset IFS
[ -z "${CS_LONG:-}" ] || sed 's/^/# /' table
