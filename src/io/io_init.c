/* io_init.c - initialise htslib. */
#include "io/io_init.h"

#include <stdlib.h>

#include <htslib/bgzf.h>
#include <htslib/hts.h>
#include <htslib/hts_log.h>

#include "base/outfile.h"
#include "base/log.h"
#include "io/content.h"

static int pack(void *to, size_t *n_to, const void *from, size_t n)
{
    return bgzf_compress(to, n_to, from, n, -1);
}

void cs_io_init(void)
{
    static const enum htsLogLevel level[] = {
        [CS_LOG_SILENT] = HTS_LOG_OFF, [CS_LOG_ERROR] = HTS_LOG_OFF, [CS_LOG_WARN] = HTS_LOG_OFF,
        [CS_LOG_NOTE] = HTS_LOG_OFF, [CS_LOG_INFO] = HTS_LOG_ERROR, [CS_LOG_DEBUG] = HTS_LOG_DEBUG,
    };
    hts_set_log_level(level[cs_log_get_level()]);
    /* htslib asks a server for CRAM references when REF_PATH is unset or empty. */
    const char *ref = getenv("REF_PATH");
    if (!ref || !*ref)
        setenv("REF_PATH", "/dev/null", 1);
    cs_outfile_protect(cs_content_of);
    cs_out_filter_set_compressor(pack);
}

const char *cs_io_library(void)
{
    return hts_version();
}
