import Foundation

extension ProbePlot {
    private static let width = 1200
    /// Left and right edge of the charts in pixels.
    private static let left = 70.0
    private static let right = 1180.0
    private static let bandTop = 50.0
    private static let bandHeight = 26.0
    private static let chartHeight = 170.0
    private static let chartGap = 56.0

    /// A chart of the drawing: points of several kinds over the same time.
    private struct Chart {
        var title: String
        var series: [(name: String, colour: String, points: [Point])]
        /// Values that the axis always shows.
        var least: ClosedRange<Double>
    }

    private var charts: [Chart] {
        let colours = ["#0b7285", "#c2255c", "#5f3dc4", "#2b8a3e", "#e8590c"]
        var charts = [
            Chart(
                title: "From picture to picture, ms",
                series: [
                    ("by arrival at the viewer", "#adb5bd", arrivals), ("by timestamp", "#1971c2", spacing),
                ], least: 0...60)
        ]
        let sources = offsets.sorted { $0.key < $1.key }
        charts.append(
            Chart(
                title: "Sound behind picture, ms",
                series: sources.map { ("source \($0.key)", colours[$0.key % colours.count], $0.value) },
                least: -20...20))
        return charts
    }

    /// The plot as an SVG document. Its size does not depend on the length of the program: for each column of pixels,
    /// the smallest and the greatest value are drawn.
    public var svg: String {
        let charts = charts
        let below = Double(charts.count) * (Self.chartHeight + Self.chartGap)
        let height = Int(Self.bandTop + Self.bandHeight + below) + 30
        var text = """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(height)" \
            font-family="DejaVu Sans, sans-serif" font-size="12" fill="#343a40">
            <rect width="\(Self.width)" height="\(height)" fill="#fff"/>
            <text x="\(Self.left)" y="24" font-size="16" font-weight="bold">What a viewer received: \
            \(length.tenths) s, \(changes.count) changes</text>

            """
        text += bands.map(drawing).joined()
        var top = Self.bandTop + Self.bandHeight + Self.chartGap / 2
        for chart in charts {
            text += drawing(chart, top: top)
            top += Self.chartHeight + Self.chartGap
        }
        for change in changes {
            let look = change.isWithinLimits ? ##"stroke="#2b8a3e" stroke-dasharray="3 3""## : ##"stroke="#e03131""##
            text += #"<path d="M\#(x(change.seconds)) \#(Self.bandTop - 6)V\#(top - Self.chartGap)" \#(look)/>"# + "\n"
        }
        for second in Self.ticks(0...max(length, 0.1), about: 12) {
            text += """
                <text x="\(x(second))" y="\(top - Self.chartGap + 18)" text-anchor="middle">\(Self.label(second)) s</text>

                """
        }
        return text + "\n</svg>\n"
    }

    private func x(_ seconds: Double) -> Double {
        let value = Self.left + (Self.right - Self.left) * seconds / max(length, 0.1)
        return (value * 10).rounded() / 10
    }

    private func drawing(_ band: Band) -> String {
        let colour =
            switch band.kind {
            case .bypass: "#d0ebff"
            case .mix: "#ffe8cc"
            case .unknown: "#ffc9c9"
            }
        let (from, to) = (x(band.seconds.lowerBound), x(band.seconds.upperBound))
        let name = to - from > Double(band.label.utf8.count) * 7 ? band.label : ""
        return """
            <rect x="\(from)" y="\(Self.bandTop)" width="\(max(to - from, 0.5))" height="\(Self.bandHeight)" fill="\(colour)"/>\
            <text x="\((from + to) / 2)" y="\(Self.bandTop + 17)" text-anchor="middle">\(name)</text>

            """
    }

    private func drawing(_ chart: Chart, top: Double) -> String {
        let values = chart.series.flatMap { $0.points.map(\.value) }
        let lowest = min(chart.least.lowerBound, values.min() ?? 0)
        let highest = max(chart.least.upperBound, values.max() ?? 0)
        func y(_ value: Double) -> Double {
            let share = (value - lowest) / (highest - lowest)
            return ((top + Self.chartHeight * (1 - share)) * 10).rounded() / 10
        }
        var text = #"<text x="\#(Self.left)" y="\#(top - 8)" font-weight="bold">\#(chart.title)</text>"#
        var legend = Self.right
        for series in chart.series.reversed() {
            text += """
                <text x="\(legend)" y="\(top - 8)" text-anchor="end" fill="\(series.colour)">\(series.name)</text>

                """
            legend -= Double(series.name.utf8.count) * 7 + 16
        }
        for value in Self.ticks(lowest...highest, about: 4) {
            text += """
                <path d="M\(Self.left) \(y(value))H\(Self.right)" stroke="#e9ecef"/>\
                <text x="\(Self.left - 8)" y="\(y(value) + 4)" text-anchor="end">\(Self.label(value))</text>

                """
        }
        for series in chart.series {
            var columns: [Int: ClosedRange<Double>] = [:]
            for point in series.points {
                let column = Int(x(point.seconds))
                let known = columns[column] ?? point.value...point.value
                columns[column] = min(known.lowerBound, point.value)...max(known.upperBound, point.value)
            }
            let path = columns.sorted { $0.key < $1.key }
                .map { "M\($0.key) \(y($0.value.lowerBound))V\(y($0.value.upperBound))" }.joined()
            text += """
                <path d="\(path)" stroke="\(series.colour)" stroke-width="3" stroke-linecap="round" fill="none"/>

                """
        }
        return text
    }

    /// Returns round values within `range`, at most about `count` of them.
    static func ticks(_ range: ClosedRange<Double>, about count: Int) -> [Double] {
        let raw = max((range.upperBound - range.lowerBound) / Double(max(count, 1)), 1e-6)
        let power = pow(10, log10(raw).rounded(.down))
        let step = [1, 2, 5, 10].map { $0 * power }.first { $0 >= raw * 0.999 } ?? raw
        let first = (range.lowerBound / step).rounded(.up)
        let last = (range.upperBound / step).rounded(.down)
        return last < first ? [] : (0...Int(last - first)).map { (first + Double($0)) * step }
    }

    private static func label(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : value.tenths
    }
}
