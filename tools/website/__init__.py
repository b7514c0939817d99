"""What ``make site`` adds to mkdocs: pages that are written by programs.

notebooks   the tutorials: Python files with cells, executed, as Markdown and as notebooks
reference   a page for each room of the public names, and one for the commands
hooks       what mkdocs calls: adds these pages, and leads links to where pages are on the site
"""
