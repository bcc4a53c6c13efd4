import Foundation
import HTTPInterface
import RoomService

extension PlaybackSettings {
    /// - Parameter file: The configuration file, whose permissions are checked if it contains a key.
    init(_ values: ConfigurationValues, file: String?) throws(StartupError) {
        self.init()
        var keys: [String] = []
        for name in ["playback.key", "playback.secondaryKey"] {
            if let key = try key(name, values, file: file) { keys.append(key) }
        }
        if keys.isEmpty == false, values.secret("playback.key") == nil, values.text("playback.keyFile") == nil {
            throw StartupError(
                "configuration: playback.secondaryKey: found without playback.key; expected both")
        }
        try checkMode(values.choice("playback.access"), hasKey: !keys.isEmpty)
        access = PlaybackAccess(
            keys: keys, validity: try values.integer("playback.validity", in: 0...31_536_000) ?? 0)
        let origins = values.list("playback.cors")
        if !origins.isEmpty { self.origins = try PlaybackOrigins(origins) }
        latencyCap = try values.integer("playback.latencyCapMs", in: 500...60_000) ?? latencyCap
        maxViewers = try values.integer("playback.maxViewers", in: 0...1_000_000) ?? maxViewers
        maxViewersPerProgram =
            try values.integer("playback.maxViewersPerProgram", in: 0...1_000_000) ?? maxViewersPerProgram
    }

    /// The values of `playback.access`. Without one, the presence of a key decides.
    private enum Mode: String, CaseIterable { case open, signed }

    private mutating func checkMode(_ mode: Mode?, hasKey: Bool) throws(StartupError) {
        switch (mode, hasKey) {
        case (.signed, false):
            throw StartupError(
                "configuration: playback.access: found \"signed\" without a key; expected playback.key or "
                    + "playback.keyFile as well")
        case (.open, true):
            throw StartupError(
                "configuration: playback.access: found \"open\" together with a key; expected \"signed\", or no playback.key"
            )
        case (.open, false): isOpenOnPurpose = true
        case (.signed, true), (nil, _): break
        }
    }

    /// Returns the key under this name, or in the file that `…File` names.
    ///
    /// - Parameter lengths: Accepted lengths, in bytes.
    mutating func key(
        _ name: String, _ values: ConfigurationValues, file configuration: String?,
        lengths: ClosedRange<Int> = PlaybackSettings.keyLengths
    ) throws(StartupError) -> String? {
        let key: String
        let file: String?
        switch (values.secret(name), values.text("\(name)File")) {
        case (nil, nil): return nil
        case (_?, _?): throw StartupError("configuration: \(name): found both; expected either \(name) or \(name)File")
        case (let given?, nil): (key, file) = (given, configuration)
        case (nil, let path?):
            guard let data = FileManager.default.contents(atPath: path) else {
                throw StartupError(
                    "configuration: \(name)File: found \"\(path)\"; expected a readable file")
            }
            let text = String(decoding: data.prefix(1 << 10), as: UTF8.self)
            (key, file) = (text.trimmingCharacters(in: .whitespacesAndNewlines), path)
        }
        guard lengths ~= key.utf8.count, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw StartupError(
                "configuration: \(name): found \(key.utf8.count) bytes; expected \(lengths.lowerBound) to "
                    + "\(lengths.upperBound) printable ASCII characters without spaces, as "
                    + "`openssl rand -hex 16` prints")
        }
        if let file { warn(ifOpen: file) }
        return key
    }

    /// Adds a warning if other users may read or change a file that contains a secret.
    mutating func warn(ifOpen file: String) {
        guard let mode = try? FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int,
            mode & 0o007 != 0
        else { return }
        warnings.append("\(file) holds secrets and is open to every user of this machine: run chmod o= \(file)")
    }
}
