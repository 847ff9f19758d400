"""multiqc_chordseq - MultiQC plugin for the outputs of chordseq."""

__version__ = "0.2.0"

# Names of files say nothing for certain; both documents name chordseq in their first lines.
PATTERNS = {
    "chordseq/summary": {"fn": "*.json", "contents": '"chordseq_version":', "num_lines": 3},
    "chordseq/eval": {"fn": "*.json", "contents_re": r'^\s*"chordseq":', "num_lines": 3},
}


def add_search_patterns():
    """Tell MultiQC which files are ours; patterns in a user's configuration come first."""
    from multiqc import config

    for name, pattern in PATTERNS.items():
        if name not in config.sp:
            config.update_dict(config.sp, {name: pattern})
