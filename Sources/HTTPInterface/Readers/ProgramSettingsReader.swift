import EncodedMedia
import EventSubscription
import LayoutEngine
import MixModel

/// Reads the `program` part of settings, either complete or as a JSON merge patch (RFC 7396).
struct ProgramSettingsReader: Sendable {
    /// Permitted sources of images.
    var images: AllowList
    /// The room whose settings are read. Other rooms in them belong to the same tenant.
    var room: RoomID

    func settings(_ fields: FieldReader, patching base: ProgramSettings) throws(InputError) -> ProgramSettings {
        var reader = fields
        var settings = base
        if reader.has("composition") {
            settings.composition =
                try reader.object("composition").map { fields throws(InputError) in
                    try composition(fields, patching: settings.composition)
                } ?? .automatic
        }
        if reader.has("encoding") {
            settings.encoding = try reader.object("encoding").map { fields throws(InputError) in
                try Self.encoding(fields, patching: settings.encoding ?? EncodingSettings())
            }
        }
        if reader.has("sei") {
            settings.sei = try reader.object("sei").map { fields throws(InputError) in
                try Self.messages(fields, patching: settings.sei ?? SEISettings())
            }
        }
        try reader.finish()
        if case .fixed(let fixed) = settings.composition, fixed.panes.isEmpty, settings.tracks != .audio {
            throw InputError(
                .missingField, field: reader.path(of: "composition.panes"),
                expected: "at least one pane, such as [{\"x\":0,\"y\":0,\"width\":0.5,\"height\":1}], or "
                    + "encoding.audioOnly for a program without video")
        }
        return settings
    }

    // MARK: Composition

    private enum Mode: String, CaseIterable { case automatic, single, fixed }

    private func composition(
        _ fields: FieldReader, patching base: ProgramSettings.Composition
    ) throws(InputError) -> ProgramSettings.Composition {
        var reader = fields
        let mode: Mode =
            if let mode = try reader.choice("mode", of: Mode.self) { mode } else {
                switch base {
                case .automatic: .automatic
                case .single: .single
                case .fixed: .fixed
                }
            }
        let composition: ProgramSettings.Composition
        switch mode {
        case .automatic:
            composition = .automatic
        case .single:
            let known: SourceSelection? = if case .single(let selection) = base { selection } else { nil }
            if let fields = try reader.object("source") {
                composition = .single(try selection(fields, patching: known))
            } else if let known {
                composition = .single(known)
            } else {
                throw InputError(
                    .missingField, field: reader.path(of: "source"),
                    expected: "the participant whose stream is copied, such as {\"user\":\"alice\"}")
            }
        case .fixed:
            let known = if case .fixed(let fixed) = base { fixed } else { FixedComposition() }
            composition = .fixed(try fixed(&reader, patching: known))
        }
        try reader.finish()
        return composition
    }

    private func fixed(
        _ reader: inout FieldReader, patching base: FixedComposition
    ) throws(InputError) -> FixedComposition {
        var fixed = base
        if reader.has("sources") {
            fixed.sources = try reader.array("sources").map { elements throws(InputError) in
                guard elements.count <= FixedComposition.mostSources else {
                    throw InputError(
                        .invalidField, field: reader.path(of: "sources"),
                        expected: "at most \(FixedComposition.mostSources) sources")
                }
                var sources: [SourceSelection] = []
                for (element, path) in elements {
                    sources.append(try selection(try FieldReader(element, path: path), patching: nil))
                }
                return sources
            }
        }
        if reader.has("panes") {
            let elements = try reader.array("panes") ?? []
            guard elements.count <= FixedComposition.mostPanes else {
                throw InputError(
                    .invalidField, field: reader.path(of: "panes"),
                    expected: "at most \(FixedComposition.mostPanes) panes")
            }
            fixed.panes = []
            for (element, path) in elements { fixed.panes.append(try pane(element, path)) }
        }
        if reader.has("background") {
            fixed.background = try reader.object("background").map { fields throws(InputError) in
                try background(fields, patching: fixed.background)
            }
        }
        return fixed
    }

    private func selection(
        _ fields: FieldReader, patching base: SourceSelection?
    ) throws(InputError) -> SourceSelection {
        var reader = fields
        var selection = base ?? SourceSelection(user: "")
        if base == nil || reader.has("user") {
            selection.user = UserID(
                try EventParser.identifier(
                    reader.requiredString("user", expected: "the participant's id"), field: reader.path(of: "user")))
        }
        if reader.has("room") {
            let name = try reader.string("room").map { name throws(InputError) in
                try EventParser.identifier(name, field: reader.path(of: "room"))
            }
            let other = name.map { RoomID(app: room.app, name: $0) }
            selection.room = other == room ? nil : other
        }
        if reader.has("stream") { selection.kind = try reader.choice("stream", of: StreamKind.self) }
        if reader.has("tracks") {
            selection.tracks = try reader.choice("tracks", of: SourceSelection.Tracks.self) ?? .all
        }
        try reader.finish()
        return selection
    }

    private func pane(_ value: JSONValue, _ path: String) throws(InputError) -> FixedPane {
        var reader = try FieldReader(value, path: path)
        let x = try reader.fraction("x")
        let y = try reader.fraction("y")
        let width = try reader.fraction("width", isLength: true)
        let height = try reader.fraction("height", isLength: true)
        var pane = FixedPane(x: x, y: y, width: width, height: height)
        pane.z = try reader.integer("z", in: FixedPane.levels) ?? 0
        pane.fit = try reader.fit("fit")
        pane.source = try reader.object("source").map { fields throws(InputError) in
            try selection(fields, patching: nil)
        }
        pane.placeholder = try reader.string("placeholder").map { url throws(InputError) in
            try image(url, field: reader.path(of: "placeholder"))
        }
        try reader.finish()
        return pane
    }

    private func background(
        _ fields: FieldReader, patching base: FixedBackground?
    ) throws(InputError) -> FixedBackground {
        var reader = fields
        var background = base ?? FixedBackground(url: "")
        if base == nil || reader.has("image") {
            background.url = try image(
                try reader.requiredString("image", expected: "the image's URL"), field: reader.path(of: "image"))
        }
        if reader.has("fit") { background.fit = try reader.fit("fit") }
        try reader.finish()
        return background
    }

    private func image(_ url: String, field: String) throws(InputError) -> String {
        // A redacted URL from an answer must not be accepted as a URL.
        guard !url.contains("***") else {
            throw InputError(
                .invalidField, field: field, found: "a redacted URL",
                expected: "the full URL: responses show *** in place of possible secrets")
        }
        return try images.check(url, schemes: [.http, .https], field: field, setting: "sources.allow").text
    }

    // MARK: Encoding

    private static func encoding(
        _ fields: FieldReader, patching base: EncodingSettings
    ) throws(InputError) -> EncodingSettings {
        var reader = fields
        var encoding = base
        let numbers: [(String, WritableKeyPath<EncodingSettings, Int?>, ClosedRange<Int>)] = [
            ("videoBitrate", \.videoBitrate, EncodingSettings.videoBitrates),
            ("gopFrames", \.gopFrames, EncodingSettings.gops),
            ("threads", \.threads, EncodingSettings.threadCounts),
            ("audioBitrate", \.audioBitrate, EncodingSettings.audioBitrates),
            ("audioChannels", \.audioChannels, EncodingSettings.channelCounts),
        ]
        for (key, part, range) in numbers where reader.has(key) {
            encoding[keyPath: part] = try reader.integer(key, in: range)
        }
        if reader.has("audioSampleRate") {
            let rates = EncodingSettings.sampleRates
            let rate = try reader.integer("audioSampleRate", in: 0...Int.max)
            guard rate.map(rates.contains) ?? true else {
                throw InputError(
                    .invalidField, field: reader.path(of: "audioSampleRate"), found: rate.map { "\($0)" },
                    expected: "one of " + rates.map { "\($0)" }.joined(separator: ", "))
            }
            encoding.audioSampleRate = rate
        }
        if reader.has("videoCodec") { encoding.videoCodec = try reader.choice("videoCodec", of: VideoCodec.self) }
        if reader.has("profile") { encoding.profile = try reader.choice("profile", of: EncodingSettings.Profile.self) }
        if let profile = encoding.profile, !encoding.profiles.contains(profile) {
            throw InputError(
                .invalidField, field: reader.path(of: "profile"), found: profile.rawValue,
                expected: "\(EncodingSettings.Profile.main.rawValue), the only profile for H.265")
        }
        if reader.has("preset") { encoding.preset = try reader.choice("preset", of: EncodingSettings.Preset.self) }
        if reader.has("audioOnly") { encoding.audioOnly = try reader.boolean("audioOnly") ?? false }
        try reader.finish()
        return encoding
    }

    // MARK: SEI

    private static func messages(_ fields: FieldReader, patching base: SEISettings) throws(InputError) -> SEISettings {
        var reader = fields
        var messages = base
        if reader.has("payloadType") {
            let type = try reader.integer("payloadType", in: 0...255) ?? SEISettings.userDataUnregistered
            guard type == SEISettings.userDataUnregistered || SEISettings.payloadTypes.contains(type) else {
                let range = SEISettings.payloadTypes
                throw InputError(
                    .invalidField, field: reader.path(of: "payloadType"), found: "\(type)",
                    expected: "\(SEISettings.userDataUnregistered), or \(range.lowerBound)…\(range.upperBound)")
            }
            messages.payloadType = type
        }
        if reader.has("layoutVolume") {
            messages.layoutVolume = try reader.object("layoutVolume").map { fields throws(InputError) in
                var reader = fields
                let timing = try timing(&reader, patching: messages.layoutVolume ?? SEISettings.Timing())
                try reader.finish()
                return timing
            }
        }
        if reader.has("wallClock") {
            messages.wallClock = try reader.object("wallClock").map { fields throws(InputError) in
                var reader = fields
                let timing = try timing(&reader, patching: messages.wallClock ?? SEISettings.Timing())
                try reader.finish()
                return timing
            }
        }
        if reader.has("passThrough") {
            messages.passThrough = try reader.object("passThrough").map { fields throws(InputError) in
                try passThrough(fields, patching: messages.passThrough)
            }
        }
        if reader.has("custom") { messages.custom = try text(&reader, "custom") }
        try reader.finish()
        return messages
    }

    private static func passThrough(
        _ fields: FieldReader, patching base: SEISettings.PassThrough?
    ) throws(InputError) -> SEISettings.PassThrough {
        var reader = fields
        var passThrough = base ?? SEISettings.PassThrough(content: "")
        if base == nil || reader.has("content") {
            guard let content = try text(&reader, "content") else {
                throw InputError(.missingField, field: reader.path(of: "content"), expected: "the text that is sent")
            }
            passThrough.content = content
        }
        if reader.has("key") {
            let key = try reader.string("key") ?? SEISettings.PassThrough.defaultKey
            guard 1...SEISettings.longestKey ~= key.unicodeScalars.count else {
                throw InputError(
                    .invalidField, field: reader.path(of: "key"), found: JSONValue.string(key).summary,
                    expected: "1 to \(SEISettings.longestKey) characters")
            }
            passThrough.key = key
        }
        passThrough.timing = try timing(&reader, patching: passThrough.timing)
        try reader.finish()
        return passThrough
    }

    private static func timing(
        _ reader: inout FieldReader, patching base: SEISettings.Timing
    ) throws(InputError) -> SEISettings.Timing {
        var timing = base
        if reader.has("intervalMs") {
            let range = SEISettings.intervals
            let interval = try reader.integer("intervalMs", in: 0...Int.max) ?? SEISettings.defaultInterval
            guard interval == 0 || range.contains(interval) else {
                throw InputError(
                    .invalidField, field: reader.path(of: "intervalMs"), found: "\(interval)",
                    expected: "\(range.lowerBound)…\(range.upperBound), or 0 for IDR frames only")
            }
            timing.intervalMs = interval == 0 ? nil : interval
        }
        if reader.has("followIdr") { timing.followsIDR = try reader.boolean("followIdr") ?? false }
        return timing
    }

    private static func text(_ reader: inout FieldReader, _ key: String) throws(InputError) -> String? {
        guard let text = try reader.string(key) else { return nil }
        guard text.unicodeScalars.count <= SEISettings.longestText else {
            throw InputError(
                .invalidField, field: reader.path(of: key), found: "\(text.unicodeScalars.count) characters",
                expected: "at most \(SEISettings.longestText) characters")
        }
        return text
    }
}

extension FieldReader {
    /// Returns a required share of the canvas, 0…1. A length must be greater than 0.
    fileprivate mutating func fraction(_ key: String, isLength: Bool = false) throws(InputError) -> UnitFraction {
        let expected =
            isLength
            ? "a number greater than 0 and at most 1: a share of the canvas" : "a number, 0…1: a share of the canvas"
        guard let value = value(key) else {
            throw InputError(.missingField, field: path(of: key), expected: expected)
        }
        guard case .number(let number) = value, 0...1 ~= number, !isLength || UnitFraction(number) > .zero else {
            throw invalid(key, value, expected)
        }
        return UnitFraction(number)
    }

    fileprivate mutating func fit(_ key: String) throws(InputError) -> Pane.Fit {
        guard let text = try string(key) else { return .cover }
        guard let fit = Pane.Fit(rawValue: text), fit != .stretch else {
            throw invalid(key, .string(text), "\"cover\" (crops) or \"contain\" (shows all of it on black)")
        }
        return fit
    }
}
