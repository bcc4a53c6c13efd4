import ChildProcesses
import Configuration
import EventSubscription
import LayoutEngine
import MixModel
import RoomService

/// Reads single settings and reports exactly what is wrong with an invalid one.
struct ConfigurationValues {
    private let reader: ConfigReader

    init(_ reader: ConfigReader) { self.reader = reader }

    /// Returns the text of a setting; `nil` when it is not set or empty.
    func text(_ key: String) -> String? {
        reader.string(forKey: ConfigKey(key)).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns a setting like `text`, marked as a secret that is never shown.
    func secret(_ key: String) -> String? {
        reader.string(forKey: ConfigKey(key), isSecret: true).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns whether a list is configured, even an empty one.
    func isSet(_ list: String) -> Bool { reader.stringArray(forKey: ConfigKey(list)) != nil }

    func list(_ key: String) -> [String] {
        (reader.stringArray(forKey: ConfigKey(key)) ?? []).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }

    func integer(_ key: String, in range: ClosedRange<Int>) throws(StartupError) -> Int? {
        guard let text = text(key) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw wrong(key, text, "a whole number, \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    func number(_ key: String, in range: ClosedRange<Double>) throws(StartupError) -> Double? {
        guard let text = text(key) else { return nil }
        guard let value = Double(text), range.contains(value) else {
            throw wrong(key, text, "a number, \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    func flag(_ key: String) throws(StartupError) -> Bool? {
        guard let text = text(key) else { return nil }
        guard let value = Bool(text.lowercased()) else { throw wrong(key, text, "true or false") }
        return value
    }

    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String
    ) throws(StartupError) -> Choice? where Choice.RawValue == String {
        guard let text = text(key) else { return nil }
        guard let value = Choice(rawValue: text) else {
            throw wrong(key, text, "one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return value
    }

    /// Returns the name of an encoder in the notation of mixers: lower-case letters and digits.
    func encoder(_ key: String) throws(StartupError) -> String? {
        guard let text = text(key) else { return nil }
        let isName = text.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 } && text.utf8.count <= 32
        guard isName else { throw wrong(key, text, "software, auto, or an encoder that `mixworker doctor` names") }
        return text
    }

    /// Returns the configured memory limits, in MiB; 0 means no limit.
    func workerMemory() throws(StartupError) -> [WorkerKind: Int] {
        var limits: [WorkerKind: Int] = [:]
        for kind in WorkerKind.allCases {
            let key = "memory.\(kind.rawValue)"
            guard let text = text(key) else { continue }
            guard let value = Int(text), value == 0 || WorkerLimits.memoryRange.contains(value) else {
                let range = WorkerLimits.memoryRange
                throw wrong(key, text, "MiB, \(range.lowerBound)…\(range.upperBound), or 0 for no limit")
            }
            limits[kind] = value
        }
        return limits
    }

    func colour(_ key: String) throws(StartupError) -> RGB? {
        guard let text = text(key) else { return nil }
        guard let colour = RGB(hex: text) else { throw wrong(key, text, "a colour as in \"#1A2B3C\"") }
        return colour
    }

    func allowList(_ key: String, whenEmpty: AllowList.WhenEmpty) throws(StartupError) -> AllowList {
        do {
            return try AllowList(list(key), whenEmpty: whenEmpty)
        } catch {
            throw wrong(key, error.found, error.expected)
        }
    }

    /// Returns the outputs of a list of `id=url` or `url`. Omitted ids become `main`, `output-2`, `output-3` …
    func outputs(_ key: String, allowed: AllowList) throws(StartupError) -> [PushDestination] {
        var outputs: [PushDestination] = []
        for (index, entry) in list(key).enumerated() {
            var id = index == 0 ? "main" : "output-\(index + 1)"
            var url = entry
            if let parts = entry.splitAtFirst("="), let scheme = entry.firstRange(of: "://"),
                parts.head.endIndex < scheme.lowerBound
            {
                (id, url) = (String(parts.head), String(parts.tail))
            }
            do {
                id = try EventParser.identifier(id, field: "\(key)[\(index)]")
                // Checked with sample names in place, because a URL cannot contain braces.
                _ = try allowed.check(
                    EventParser.substitute(url, ["room": "room", "app": "app"]),
                    schemes: StreamURL.pushSchemes,
                    field: "\(key)[\(index)]", setting: "outputs.allow")
            } catch {
                throw StartupError("configuration: \(error)")
            }
            guard !outputs.contains(where: { $0.id.rawValue == id }) else {
                throw wrong("\(key)[\(index)]", id, "an id that no other output has")
            }
            outputs.append(PushDestination(id: OutputID(id), url: url))
        }
        return outputs
    }

    private func wrong(_ key: String, _ found: String?, _ expected: String) -> StartupError {
        StartupError("configuration: \(key): found \(found.map { "\"\($0)\"" } ?? "nothing"); expected \(expected)")
    }
}
