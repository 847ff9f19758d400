# newencoder.t - add an encoder and an output as CONTRIBUTING.md describes: one file and one line in
# registry.am. Copies source tree and build folder, so that only new files are compiled.
. "$srcdir/tests/cli/lib.sh"

for tool in automake autoconf make; do
    command -v $tool > /dev/null && continue
    S 'another encoder' "no $tool"
    exit 0
done

# ---- the copies ----------------------------------------------------------------------------------

tree=$tmp/tree build=$tmp/build
mkdir "$tree"
(cd "$srcdir" && cp -a ./*.am ./*.ac ./*.in aclocal.m4 configure build-aux src kernels pipelines \
    tests "$tree")
chmod -R u+w "$tree"
if [ "$builddir" = "$srcdir" ]; then
    build=$tree
    cp -a "$srcdir"/config.status "$srcdir"/*.a "$srcdir"/*.h "$tree"
else
    mkdir "$build"
    (cd "$builddir" && cp -a config.status ./*.a ./*.h src kernels pipelines tests "$build")
fi

# config.status has absolute paths of build folder and sources.
: "${SHELL:=/bin/sh}"
from=$(sed -n "s/^srcdir='\(.*\)'\$/\1/p" "$build/config.status" | sed 's/[.]/\\./g')
find "$build" -name '*.Po' -exec sed -i "s|\([ :]\)$from/|\1$tree/|g; s|^$from/|$tree/|" {} +
sed -i "s|^ac_pwd=.*|ac_pwd='$build'|; s|^srcdir=.*|srcdir='$tree'|" "$build/config.status"
(cd "$build" && "$SHELL" ./config.status Makefile > config.out 2>&1) || cat config.out

# ---- the recipe ----------------------------------------------------------------------------------

cat > "$tree/src/nn/encoders/enc_gated.c" << 'END'
/* enc_gated.c - gated rotations: every layer mixes channels through a gate and rotates tracks. */
#include "nn/encoders/encoder.h"
#include "nn/ops/ops.h"
#include "nn/encoders/sublayer.h"

struct config { int64_t tracks, track, layers; int gate; };

static const char *const gate_names[] = { "sigmoid", "tanh", NULL };
static const cs_act gates[] = { CS_ACT_SIGMOID, CS_ACT_TANH };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder gated" },
    { .type = CS_OPT_INT, .name = "tracks", .off = offsetof(struct config, tracks), .arg = "NUM",
      .def = "6", .help = "groups of channels, each rotated by its own power of two",
      .min = 1, .max = 62 },
    { .type = CS_OPT_INT, .name = "track", .off = offsetof(struct config, track), .arg = "NUM",
      .def = "4", .help = "channels of a track", .min = 1, .max = 1024 },
    { .type = CS_OPT_INT, .name = "layers", .off = offsetof(struct config, layers), .arg = "NUM",
      .def = "3", .help = "layers", .min = 1, .max = 64 },
    { .type = CS_OPT_ENUM, .name = "gate", .off = offsetof(struct config, gate), .arg = "KIND",
      .def = "sigmoid", .help = "what the gate is: sigmoid or tanh", .choice = gate_names },
    { .type = CS_OPT_END }
};

struct layer { cs_linear value, gate; cs_act act; int32_t track; };
struct net { int32_t width, n_layer; struct layer layer[]; };

static int gated_check(const void *cfg)
{
    (void)cfg;
    return CS_OK;
}

static void *gated_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    struct net *e = cs_xcalloc(1, sizeof *e + (size_t)c->layers * sizeof e->layer[0]);
    char name[64];

    e->width = (int32_t)(c->tracks * c->track);
    e->n_layer = (int32_t)c->layers;
    for (int32_t l = 0; l < e->n_layer; l++) {
        struct layer *k = &e->layer[l];
        k->act = gates[c->gate];
        k->track = (int32_t)c->track;
        snprintf(name, sizeof name, "encoder.layer.%d.value", (int)l);
        k->value = cs_linear_declare(ps, e->width, e->width, 1, name);
        snprintf(name, sizeof name, "encoder.layer.%d.gate", (int)l);
        k->gate = cs_linear_declare(ps, e->width, e->width, 1, name);
    }
    return e;
}

static int32_t gated_width(const void *net)
{
    return ((const struct net *)net)->width;
}

static int64_t gated_max_len(const void *net)
{
    (void)net;
    return 0;
}

static void run_layer(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct layer *k = net;
    cs_mat v = cs_linear_apply(cx, &k->value, x), g = cs_linear_apply(cx, &k->gate, x);
    cs_mat open = cs_empty(cx, x.r, x.c), h = cs_empty(cx, x.r, x.c);

    cs_activate(cx, k->act, g, open);
    cs_mul(cx, v, open, h);
    cs_roll_add(cx, seg, k->track, h, x, y);
}

static cs_mat gated_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct net *e = net;
    return cs_stack(cx, run_layer, e->layer, sizeof e->layer[0], e->n_layer, seg, x);
}

const cs_encoder cs_enc_gated = {
    .name = "gated",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = gated_check,
    .build = gated_build,
    .width = gated_width,
    .max_len = gated_max_len,
    .forward = gated_forward,
    .release = free
};
END
echo 'encoders   += src/nn/encoders/enc_gated.c' >> "$tree/registry.am"

cat > "$tree/src/io/write_lengths.c" << 'END'
/* write_lengths.c - write the name and length of every record. */
#include "io/writer.h"

static int lengths_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    (void)a;
    return cs_outfile_printf(o->file, "%s\t%lld\n", cs_record_name(r),
                             (long long)cs_record_bases(r));
}

static const cs_opt lengths_opt[] = {
    { .type = CS_OPT_OUT, .name = "lengths", .arg = "FILE", .help = "length of every record" },
    { .type = CS_OPT_END }
};

const cs_writer cs_write_lengths = {
    .name = "lengths",
    .opt = lengths_opt,
    .cfg_size = sizeof(const char *),
    .record = lengths_record,
    .per_record = true,
    .joins = true,
    .resumes = true,
};
END
echo 'writers    += src/io/write_lengths.c' >> "$tree/registry.am"

# ---- builds and tests ----------------------------------------------------------------------------

programs=chordseq
rm -f "$build/chordseq"
for t in tests/nn/test_encoders tests/nn/test_encoders_double; do
    [ -x "$builddir/$t" ] && programs="$programs $t" || S "$t" 'not built here'
    rm -f "$build/$t"
done
# shellcheck disable=SC2086 # a list of words
T 'the program builds' sh -c 'make V=0 -C "$@" > make.out 2>&1 || { cat make.out; exit 1; }' - "$build" $programs
T 'few other files are rebuilt' sh -c 'n=$(grep -c "^  CC " make.out) && [ "$n" -le 6 ]'

OMP_WAIT_POLICY=passive CS_ENCODER=gated
export OMP_WAIT_POLICY CS_ENCODER
for t in test_encoders test_encoders_double; do
    [ ! -x "$builddir/tests/nn/$t" ] || T "$t passes with it" "$build/tests/nn/$t"
done
builddir=$build PATH=$build:$PATH
T 'help lists the encoder' sh -c 'chordseq train --encoder gated --help | grep -q -- "--encoder.gate KIND"'
awk '/^>/ { $0 = $0 " class=" (n++ % 2 ? "a" : "b") } 1' "$tiny/mixed.fa" > two.fa
T 'the encoder trains one step' chordseq train -q --encoder gated --encoder.gate tanh --label-key class \
    --epochs 1 --max-steps 1 -o g.m two.fa
T 'its model is shown with the option' sh -c 'chordseq model show g.m | grep -q "^encoder.gate	tanh\$"'
T 'its model predicts' sh -c 'chordseq classify -q -m g.m "$1" > calls && [ "$(wc -l < calls)" -gt 1 ]' - \
    "$tiny/mixed.fa"

T 'help lists the output' sh -c 'chordseq classify --help | grep -q -- "--lengths FILE"'
T 'the output is written' sh -c 'chordseq classify -q -m g.m --lengths - "$1" | head -n 1 | grep -q "	"' - \
    "$tiny/mixed.fa"
for i in 1 2; do
    chordseq classify -q -m g.m --shard $i/2 --manifest part.$i.json -o part.$i.tsv \
        --lengths part.$i.txt "$tiny/mixed.fa"
done
T 'the outputs of shards are merged' sh -c 'chordseq classify -q -m g.m --lengths all.txt "$1" &&
    chordseq merge -q --lengths merged.txt part.1.json part.2.json && cmp all.txt merged.txt' - \
    "$tiny/mixed.fa"
