"""A plot of figures as SVG: a bar for the median, a line from the least to the greatest."""
import html
import math

_BAR, _LEFT, _WIDTH = 26, 250, 420
# Width of a character of a name, on average.
_CHARACTER = 6.5


def _text(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def write(path, title, summary, reference=1.0, logarithmic=False):
    """Writes the plot; without valid runs, nothing.

    A line stands at `reference`, which is in the plot even if all figures are smaller; None: no line. A logarithmic scale begins
    at the power of ten below the least figure.
    """
    if not summary:
        return
    widest = max(reference or 0, max(numbers["max"] for numbers in summary.values())) * 1.1
    height = _BAR * len(summary) + 70
    # Bars begin behind the longest name.
    left = max(_LEFT, round(20 + _CHARACTER * max(len(name) for name in summary)))
    least = min(numbers["min"] for numbers in summary.values())
    lowest = 10 ** math.floor(math.log10(least)) if logarithmic and least > 0 else 0

    def x(value):
        if lowest:
            return left + _WIDTH * math.log(max(value, lowest) / lowest) / math.log(widest / lowest)
        return left + _WIDTH * value / widest
    parts = [f'<text x="10" y="22" font-size="15">{html.escape(title)}</text>']
    for index, (name, numbers) in enumerate(summary.items()):
        y = 40 + index * _BAR
        low, middle, high = (x(numbers[key]) for key in ("min", "median", "max"))
        centre = y + _BAR / 2
        parts += [
            f'<text x="10" y="{centre + 4}">{html.escape(name)}</text>',
            f'<rect x="{left}" y="{y + 4}" width="{middle - left:.1f}" height="{_BAR - 8}" fill="#4a7ebb"/>',
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{centre}" y2="{centre}" stroke="black" stroke-width="2"/>',
            f'<text x="{x(widest) + 6:.1f}" y="{centre + 4}">{_text(numbers["median"])}</text>']
    marks = [] if reference is None else [reference]
    if lowest:
        marks += [10 ** power for power in range(round(math.log10(lowest)), math.floor(math.log10(widest)) + 1)]
    for mark in marks:
        colour = "#b33" if mark == reference else "#bbb"
        parts.append(f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="36" y2="{height - 28}" stroke="{colour}" '
                     'stroke-dasharray="4"/>')
        parts.append(f'<text x="{x(mark) - 3:.1f}" y="{height - 12}">{mark:g}</text>')
    body = "\n".join(parts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + _WIDTH + 90}" height="{height}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')
