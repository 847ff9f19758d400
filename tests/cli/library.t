# library.t - libchordseq: its predictions, exported names, dependencies, and the examples.
. "$srcdir/tests/cli/lib.sh"

lib=$builddir/libchordseq.so.0
[ -e "$lib" ] || { S 'libchordseq' 'built with --disable-shared'; exit; }
m=$tiny/model.safetensors
default=$srcdir/refdata/model/default.safetensors fast=$srcdir/refdata/model/fast.safetensors
example=$builddir/examples/classify_memory

# The program on all records, the example on single records. Loading the default model takes most of
# the time: it gets each fifth record here, and all of them in tests/python.
awk '/^>/ { n++ } { print > (sprintf("one.%02d.fa", n)) }' "$tiny/mixed.fa"
each()
{
    model=$1; shift
    chordseq classify -q -m "$model" --all $(printf -- '--%s ' "$@") "$tiny/mixed.fa" |
        tail -n +2 > program || return
    step=1; [ "$model" != "$default" ] || step=5
    awk -v n=$step 'NR % n == 0' program > columns && mv columns program
    for f in $(ls one.*.fa | awk -v n=$step 'NR % n == 0'); do
        "$example" "$model" "$f" "$@" || return
    done > library
    # With taxa the table has their taxid and rank, which the example does not print.
    case $1 in call=taxon) cut -f 1-5,8- program > columns && mv columns program ;; esac
    [ "$(wc -l < program)" -gt $((20 / step - 1)) ] && diff program library
}
T 'the predictions of classify'                each "$m"
T 'equal to the program: the default model'               each "$default"
T 'equal to the program: taxa'                            each "$fast" call=taxon min-prob=0.7
T 'equal to the program: options'                       each "$m" strand=forward min-prob=0.6 max-unknown=0.2
if chordseq --version --verbose | grep -q '^bf16 *yes'; then
    T 'equal to the program: bf16'                        each "$m" precision=bf16
fi
T 'equal to the program: windows'                         each "$m" long-sequence=window window-length=100
"$builddir/tests/cli/make_model" values 2 head=regress labels=2 2> /dev/null
T 'equal to the program: values instead of classes'       each values
"$builddir/tests/cli/make_model" cased 2 tokenizer=base tokenizer.case=1 labels=3 encoder.track=4 2> /dev/null
T 'equal to the program: bases with their case'           each cased
T 'the case of bases changes predictions' sh -c 'sed "/^>/!s/.*/\U&/" "$1" | chordseq classify -q -m cased --all - > upper &&
    chordseq classify -q -m cased --all "$1" > cased.tsv && ! cmp -s upper cased.tsv' - "$tiny/mixed.fa"
printf '>%0400d\nACGTTGCAACGTTGCA\n' 0 > header.fa
T 'long headers do not count as bases' sh -c '[ "$("$1" "$2" "$3" | cut -f 2)" = 16 ]' - "$example" "$m" header.fa
T 'the vectors of embed' sh -c 'for f in one.*.fa; do "$1" -e "$2" $f || exit; done > library &&
    for f in one.*.fa; do chordseq embed -q -m "$2" --format tsv -o - $f | tail -n +2 || exit
    done > program && diff program library' - "$example" "$m"

# Its messages without the name of the example.
says() { "$example" "$m" "$@" 2>&1 | sed 's/^[^:]*: //' >&2; return 1; }
printf '>a\nACGZ\n' > letter.fa
printf '>a\n%0300d\n' 0 | tr 0 A > long.fa
N library-letter.err says letter.fa
N library-memory.err says long.fa max-memory=1Ki long-sequence=error
N library-option.err says long.fa min-prob=high
N library-mistyped.err says long.fa min-prop=0.5
printf '>a\n%01600d\n' 0 | tr 0 A > longer.fa
N library-long.err says longer.fa long-sequence=error
"$builddir/tests/cli/make_model" sound 2 encoder=cdil encoder.channels=4 encoder.layers=2 tokenizer=base 2> /dev/null
sed 's/kernel\\":\\"3/kernel\\":\\"4/' sound > unsound
T 'incompatible settings of a model are named with its file, and by both as they spell options' sh -c '! chordseq classify -m unsound long.fa 2> msgs &&
    grep -q "classify: .unsound. is not a valid chordseq model: --encoder.kernel must be odd, not 4$" msgs && ! "$1" unsound long.fa 2> msgs &&
    grep -q ": .unsound. is not a valid chordseq model: encoder.kernel must be odd, not 4$" msgs' - "$example"

# Only its interface is exported; no function writes, exits or handles signals.
sed -n 's/^CHORDSEQ_API .*\(chordseq_[a-z_]*\)(.*/\1/p' "$srcdir/src/lib/chordseq.h" | sort > declared
nm -D --defined-only "$lib" | awk '$2 == "T" { print $3 }' | grep '^chordseq_' | sort > visible
T 'declared and exported functions agree' sh -c '[ -s declared ] && diff declared visible'
if nm -D "$lib" | grep -qE ' (__asan|__ubsan|__tsan)'; then
    S 'functions under other names' 'a build with a sanitizer'
else
    T 'no further exported names' sh -c '! nm -D --defined-only "$1" | grep -v " chordseq_"' - "$lib"
    T 'no function writes, exits or handles signals' sh -c '! nm -D --undefined-only "$1" | sed "s/@.*//" |
        grep -wE "exit|_exit|atexit|printf|puts|putchar|perror|stdout|stderr|signal|sigaction|system"' - "$lib"
    T 'a soname' sh -c 'objdump -p "$1" | grep -q "SONAME *libchordseq.so.0$"' - "$lib"
fi

# The header alone, in C and C++.
echo '#include "chordseq.h"
int main(void) { return chordseq_version()[0] == 0; }' > use.c
T 'the header in C99' ${CC:-cc} -std=c99 -pedantic-errors -Wall -Wextra -Werror \
    -I"$srcdir/src/lib" -fsyntax-only use.c
with c++ T 'the header in C++' c++ -x c++ -pedantic-errors -Wall -Wextra -Werror \
    -I"$srcdir/src/lib" -fsyntax-only use.c

# Python without the package: the whole file at once.
python()
{
    nm -D "$lib" | grep -qE ' (__asan|__tsan)' && { S "$1" 'python runs without the sanitizer'; return; }
    with python3 T "$@"
}
export CHORDSEQ_LIBRARY="$lib"
python 'ctypes: the predictions of classify' sh -c 'chordseq classify -q -m "$2" --all "$3" > program &&
    python3 "$1/examples/chordseq_ctypes.py" "$2" "$3" > library && diff program library' \
    - "$srcdir" "$m" "$tiny/mixed.fa"
python 'ctypes: values instead of classes' sh -c 'chordseq classify -q -m values "$2" |
    awk "NR > 1 { print \$1, \".\", \$5 }" > program && python3 "$1/examples/chordseq_ctypes.py" values "$2" |
    awk "NR > 1 { print \$1, \$3, \$5 }" > library && diff program library' - "$srcdir" "$tiny/mixed.fa"
cat > handles.py <<'END'
import sys, threading
sys.path.insert(0, sys.argv[1] + "/examples")
sys.dont_write_bytecode = True
from chordseq_ctypes import Error, Model, read_fasta
records = [r[1] for r in read_fasta(sys.argv[3])]
first = Model(sys.argv[2], threads=2)
want, vectors = first.classify(records), first.embed(records)
handles, bad = [first.share() for _ in range(3)], []
first.close()
def work(m):
    with m:
        if str(m.classify(records)) != str(want) or str(m.embed(records)) != str(vectors):
            bad.append(m)
threads = [threading.Thread(target=work, args=(m,)) for m in handles]
for t in threads: t.start()
for t in threads: t.join()
assert not bad and len(vectors[0]) == 40
try:
    Model("nowhere")
except Error as e:
    assert "nowhere" in str(e)
else:
    sys.exit("a model from nowhere")
END
python 'ctypes: handles in three threads' python3 handles.py "$srcdir" "$m" "$tiny/mixed.fa"
