import Synchronization

/// What the service counts, in Prometheus' text format (exposition format 0.0.4). Thread-safe.
///
/// Labels are names of layouts and words of this program, never URLs or other text from outside.
final class Metrics: Sendable {
    /// What only grows.
    enum Counter: String, CaseIterable {
        case events = "events_total"
        case imageFetches = "image_fetches_total"
        case layoutReloads = "layout_reloads_total"

        var help: String {
            switch self {
            case .events: "Events of rooms by what they did."
            case .imageFetches: "Images of layouts that were fetched or read, by what came of it."
            case .layoutReloads: "Layouts that were saved, by what came of it."
            }
        }

        var labels: [String] {
            switch self {
            case .events: ["outcome"]
            case .imageFetches: ["result"]
            case .layoutReloads: ["layout", "result"]
            }
        }
    }

    /// What is measured when somebody asks.
    struct Gauge {
        var name: String
        var help: String
        /// Label of the samples; `nil` for a single one.
        var label: String?
        var samples: [(value: String, count: Int)]

        init(_ name: String, _ help: String, _ count: Int) {
            (self.name, self.help, samples) = (name, help, [("", count)])
        }

        init(_ name: String, _ help: String, by label: String, _ counts: [String: Int]) {
            (self.name, self.help, self.label) = (name, help, label)
            samples = counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }

    private let counts = Mutex<[Counter: [[String]: Int]]>([:])

    /// - Parameter labels: A value for each of the counter's labels.
    func count(_ counter: Counter, _ labels: String...) {
        counts.withLock { $0[counter, default: [:]][labels, default: 0] += 1 }
    }

    func value(_ counter: Counter, _ labels: String...) -> Int { counts.withLock { $0[counter]?[labels] ?? 0 } }

    /// Everything, the same state in the same order.
    func text(_ gauges: [Gauge]) -> String {
        var lines: [String] = []
        let counts = counts.withLock { $0 }
        for counter in Counter.allCases {
            lines += Self.head(counter.rawValue, counter.help, "counter")
            for (values, count) in (counts[counter] ?? [:]).sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                lines.append(Self.sample(counter.rawValue, Array(zip(counter.labels, values)), count))
            }
        }
        for gauge in gauges {
            lines += Self.head(gauge.name, gauge.help, "gauge")
            for (value, count) in gauge.samples {
                lines.append(Self.sample(gauge.name, gauge.label.map { [($0, value)] } ?? [], count))
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func head(_ name: String, _ help: String, _ type: String) -> [String] {
        ["# HELP \(name) \(help)", "# TYPE \(name) \(type)"]
    }

    private static func sample(_ name: String, _ labels: [(String, String)], _ count: Int) -> String {
        guard !labels.isEmpty else { return "\(name) \(count)" }
        let pairs = labels.map { label, value in
            let escaped = value.replacing("\\", with: #"\\"#).replacing("\"", with: #"\""#).replacing(
                "\n", with: #"\n"#)
            return "\(label)=\"\(escaped)\""
        }
        return "\(name){\(pairs.joined(separator: ","))} \(count)"
    }
}
