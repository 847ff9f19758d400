"""Pages of the site that are written elsewhere: manual pages, the Python reference, the model cards."""
import ast
import subprocess
from pathlib import Path

from mkdocs.structure.files import File

TOP = Path(__file__).resolve().parent.parent
PACKAGE = TOP / "packaging/python/chordseq"
MODULES = "model.py", "training.py", "tables.py", "estimators.py", "errors.py"


def manual(path):
    """A manual page as text."""
    text = subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=96n", str(path)], check=True,
                          stdout=subprocess.PIPE, encoding="utf-8").stdout
    return f"# {path.stem}({path.suffix[1:]})\n\n````text\n{text.strip()}\n````\n"


def entry(node, owner=""):
    """A public class or function and its docstring."""
    text = ast.get_docstring(node)
    if node.name.startswith("_") or not text:
        return ""
    if isinstance(node, ast.ClassDef):
        signature, level = ", ".join(ast.unparse(b) for b in node.bases), "##"
    else:
        node.args.args = [a for a in node.args.args if a.arg not in ("self", "cls")]
        signature, level = ast.unparse(node.args), "###" if owner else "##"
    head = f"{level} {owner}{node.name}\n\n```text\n{owner}{node.name}({signature})\n\n{text}\n```\n\n"
    inner = node.body if isinstance(node, ast.ClassDef) else []
    return head + "".join(entry(n, node.name + ".") for n in inner if isinstance(n, ast.FunctionDef))


def reference():
    """Docstrings of all that is public."""
    text = "# Python reference\n\n"
    for name in MODULES:
        tree = ast.parse((PACKAGE / name).read_text())
        text += "".join(entry(n) for n in tree.body
                        if isinstance(n, (ast.FunctionDef, ast.ClassDef)))
    return text


def pages():
    """{path in the site: text}"""
    found = {"python-reference.md": reference(),
             "model-card.md": (TOP / "refdata/model/README.md").read_text()
                              .replace("(EXPERIMENTS.md)", "(model-experiments.md)"),
             "model-experiments.md": (TOP / "refdata/model/EXPERIMENTS.md").read_text()
                                     .replace("(README.md)", "(model-card.md)"),
             "variant-card.md": (TOP / "refdata/model/VARIANT.md").read_text(),
             "taxa-card.md": (TOP / "refdata/model/TAXA.md").read_text(),
             "language-card.md": (TOP / "refdata/model/LANGUAGE.md").read_text()}
    for path in sorted((TOP / "man").glob("*.[135]")):
        found[f"man/{path.name}.md"] = manual(path)
    return found


def on_config(config):
    """Manual pages at the end of the menu."""
    names = [path.name for path in sorted((TOP / "man").glob("*.[135]"))]
    config.nav.append({"Manual pages": [f"man/{n}.md" for n in names]})
    return config


def on_files(files, config):
    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files
