# declare.awk - the same VCF file twice: header lines for what its records use and it does not declare,
# which bcftools norm cannot write.
function need(kind, id) { if (id != "." && !((kind, id) in has)) { has[kind, id]; more[++n] = sprintf( \
    kind == "contig" ? "##contig=<ID=%s>" : kind == "FILTER" ? "##FILTER=<ID=%s,Description=\"\">" : \
    "##" kind "=<ID=%s,Number=.,Type=String,Description=\"\">", id) } }
BEGIN { FS = "\t"; has["FILTER", "PASS"] }
FNR == NR && match($0, /^##[A-Za-z]*=<.*ID=[^,>]*/) {
    kind = substr($0, 3, index($0, "=") - 3); id = substr($0, 1, RLENGTH); sub(/.*ID=/, "", id); has[kind, id] }
FNR == NR && !/^#/ {
    need("contig", $1)
    k = split($7, f, ";"); for (i = 1; i <= k; i++) need("FILTER", f[i])
    k = split($8, f, ";"); for (i = 1; i <= k; i++) { sub(/=.*/, "", f[i]); need("INFO", f[i]) }
    k = split($9, f, ":"); for (i = 1; i <= k; i++) need("FORMAT", f[i]) }
FNR < NR { if (/^#CHROM/) for (i = 1; i <= n; i++) print more[i]; print }
