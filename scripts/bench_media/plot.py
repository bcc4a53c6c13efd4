"""A plot of a case's ratios as SVG: a bar for the median, a line from the least to the greatest."""
import html

_BAR, _LEFT, _WIDTH = 26, 250, 420


def write(path, title, summary):
    """Writes the plot; without valid runs, nothing."""
    if not summary:
        return
    widest = max(1.0, max(numbers["max"] for numbers in summary.values())) * 1.1
    height = _BAR * len(summary) + 70

    def x(value):
        return _LEFT + _WIDTH * value / widest
    parts = [f'<text x="10" y="22" font-size="15">{html.escape(title)}</text>']
    for index, (name, numbers) in enumerate(summary.items()):
        y = 40 + index * _BAR
        low, middle, high = (x(numbers[key]) for key in ("min", "median", "max"))
        centre = y + _BAR / 2
        parts += [
            f'<text x="10" y="{centre + 4}">{html.escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{y + 4}" width="{middle - _LEFT:.1f}" height="{_BAR - 8}" fill="#4a7ebb"/>',
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{centre}" y2="{centre}" stroke="black" stroke-width="2"/>',
            f'<text x="{x(widest) + 6:.1f}" y="{centre + 4}">{numbers["median"]:.3g}</text>']
    parts.append(f'<line x1="{x(1):.1f}" x2="{x(1):.1f}" y1="36" y2="{height - 28}" stroke="#b33" '
                 'stroke-dasharray="4"/>')
    parts.append(f'<text x="{x(1) - 3:.1f}" y="{height - 12}">1</text>')
    body = "\n".join(parts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 90}" height="{height}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')
