import EncodedMedia
import EventSubscription
import LayoutEngine
import MixModel
import TextFormats

/// Translates a task's parameters into the service's settings. Pure.
extension TaskParameters {
    /// The addresses that a task may name, and the default canvas.
    package struct Reach: Sendable {
        /// Permitted destinations of streams.
        var outputs: AllowList
        /// Permitted sources of images.
        var images: AllowList
        /// The canvas of tasks that specify none.
        var canvas: Canvas

        package init(outputs: AllowList, images: AllowList, canvas: Canvas) {
            self.outputs = outputs
            self.images = images
            self.canvas = canvas
        }
    }

    /// Returns the settings that the parameters describe.
    ///
    /// - Parameter old: The task's current settings. Destinations that stay keep their ids, and with them their
    ///   connections.
    func settings(_ reach: Reach, replacing old: RoomSettings? = nil) throws(CallError) -> RoomSettings {
        let reader = reader
        var settings = RoomSettings()
        settings.outputs = try outputs(reader, reach.outputs, old?.outputs ?? [])
        settings.policy.whenIdle = .finishWithRoom
        if let seconds = try reader.integer("MaxIdleTime", in: Self.idleTimes) {
            settings.policy.maxIdleSeconds = seconds
            settings.policy.whenIdle = .finish
        }
        var program = ProgramSettings()
        switch mixMode {
        case .single:
            program.composition = .single(try single(reader))
            // Keep the encoding of a mix that is still on air while it ends.
            if let mix = reader.object("TranscodeParams"), let known = try? encoding(mix, reach.canvas),
                !known.0.audioOnly
            {
                (program.encoding, settings.canvas) = known
            }
        case .mix:
            guard let mix = reader.object("TranscodeParams") else { break }
            (program.encoding, settings.canvas) = try encoding(mix, reach.canvas)
            program.composition = .fixed(
                try composition(mix, isAudioOnly: program.encoding?.audioOnly == true, reach.images))
        }
        program.sei = try sei(reader)
        settings.program = program
        return settings
    }

    // MARK: Destinations

    private func outputs(
        _ reader: WireFields, _ allowed: AllowList, _ old: [PushDestination]
    ) throws(CallError) -> [PushDestination] {
        var urls: [(text: String, path: String)] = []
        if let url = try reader.text("StreamURL") { urls.append((url, "StreamURL")) }
        for item in try reader.objects("MultiStreamURL", atMost: RoomSettingsReader.mostOutputs) ?? [] {
            urls.append(
                (try item.required("URL", "the URL to push to, such as rtmp://host/app/key"), item.path(of: "URL")))
        }
        var outputs: [PushDestination] = []
        var taken = Set(old.map(\.id))
        for (text, path) in urls {
            do throws(InputError) {
                _ = try allowed.check(
                    text, schemes: StreamURL.pushSchemes, field: path, setting: "outputs.allow")
            } catch {
                throw .invalid(path, "found \(error.found ?? "no such URL"); expected \(error.expected)")
            }
            if let known = old.first(where: { $0.url == text }) {
                outputs.append(known)
                continue
            }
            let names = ["main"] + (2...(old.count + urls.count + 1)).map { "output-\($0)" }
            guard let id = names.lazy.map({ OutputID($0) }).first(where: { !taken.contains($0) }) else { continue }
            taken.insert(id)
            outputs.append(PushDestination(id: id, url: text))
        }
        for (index, output) in outputs.enumerated()
        where outputs[..<index].contains(where: { RoomSettingsReader.isSame($0, output) }) {
            throw .invalid(urls[index].path, "duplicate destination: send it once")
        }
        return outputs
    }

    // MARK: Streams

    private static let trackTypes: KeyValuePairs<String, SourceSelection.Tracks> = [
        "0": .all, "1": .audio, "2": .video,
    ]
    private static let sourceTypes: KeyValuePairs<String, StreamKind> = ["camera": .camera, "shareScreen": .screen]
    private static let longestUser = EventParser.longestIdentifier

    private func user(_ reader: WireFields) throws(CallError) -> UserID {
        UserID(
            try Self.user(
                reader.required("UserId", "the user whose stream it is", atMost: Self.longestUser),
                reader.path(of: "UserId")))
    }

    /// Returns the user id if it is valid. Ids are written to plans and logs, and compared with those of events.
    static func user(_ text: String, _ parameter: String) throws(CallError) -> String {
        do throws(InputError) {
            return try EventParser.foreignIdentifier(text, field: parameter)
        } catch {
            throw .invalid(parameter, text, error.expected)
        }
    }

    private func single(_ reader: WireFields) throws(CallError) -> SourceSelection {
        let reader = reader.object("SingleSubParams") ?? WireFields(.object([:]), "SingleSubParams")
        let tracks = try reader.choice("StreamType", Self.trackTypes) ?? .all
        let kind = try reader.choice("SourceType", Self.sourceTypes)
        // The kind applies to video only.
        return SourceSelection(
            user: try user(reader), kind: tracks == .video ? kind ?? .camera : nil, tracks: tracks)
    }

    /// Returns the source that an entry of `UserInfos`, or a pane's `UserInfo`, selects.
    private func selection(_ reader: WireFields) throws(CallError) -> SourceSelection {
        var room: RoomID?
        if let channel = try reader.text("ChannelId"), self["ChannelId"].map(channel.hasSameUTF8) != true {
            let name = try Self.name(reader.path(of: "ChannelId"), channel, longest: 64)
            room = RoomID(app: AppID(self["AppId"] ?? AppID.standard.rawValue), name: name)
        }
        return SourceSelection(
            room: room, user: try user(reader), kind: try reader.choice("SourceType", Self.sourceTypes),
            tracks: try reader.choice("StreamType", Self.trackTypes) ?? .all)
    }

    // MARK: Composition

    private static let fits: KeyValuePairs<String, Pane.Fit> = ["0": .contain, "1": .cover]

    private func composition(
        _ reader: WireFields, isAudioOnly: Bool, _ images: AllowList
    ) throws(CallError) -> FixedComposition {
        var composition = FixedComposition()
        if let users = try reader.objects("UserInfos", atMost: FixedComposition.mostSources) {
            composition.sources = try users.map { user throws(CallError) in try selection(user) }
        }
        if isAudioOnly {
            // SDKs send `{"UserPanes":[]}` for a layout without panes, which counts as omitted.
            guard reader.object("Layout")?.isEmpty ?? true else {
                throw .invalid(reader.path(of: "Layout"), "it applies to video, but AudioOnly is true: leave it out")
            }
        } else {
            let layout = reader.path(of: "Layout")
            let expected =
                "the panes, such as {\"UserPanes\":[{\"X\":\"0\",\"Y\":\"0\",\"Width\":\"1\",\"Height\":\"1\",\"ZOrder\":\"0\"}]}"
            guard let object = reader.object("Layout") else { throw .missing(layout, expected) }
            guard let panes = try object.objects("UserPanes", atMost: FixedComposition.mostPanes) else {
                throw .missing("\(layout).UserPanes", expected)
            }
            composition.panes = try panes.map { pane throws(CallError) in
                try self.pane(pane, among: composition.sources, images)
            }
        }
        if let background = reader.object("Background"), !background.isEmpty {
            _ = try background.required("URL", "an image, such as https://host/name.png")
            composition.background = FixedBackground(
                url: try image("URL", of: background, images) ?? "",
                fit: try background.choice("RenderMode", Self.fits) ?? .cover)
        }
        return composition
    }

    private func pane(
        _ reader: WireFields, among sources: [SourceSelection]?, _ images: AllowList
    ) throws(CallError) -> FixedPane {
        var pane = FixedPane(
            x: UnitFraction(try reader.requiredFraction("X")), y: UnitFraction(try reader.requiredFraction("Y")),
            width: UnitFraction(try reader.requiredFraction("Width")),
            height: UnitFraction(try reader.requiredFraction("Height")),
            z: try reader.requiredInteger("ZOrder", in: FixedPane.levels),
            fit: try reader.choice("RenderMode", Self.fits) ?? .cover)
        for (key, length) in [("Width", pane.width), ("Height", pane.height)] where length == .zero {
            throw .invalid(reader.path(of: key), "found 0; expected more than 0, and at most 1")
        }
        pane.placeholder = try image("BackgroundImageUrl", of: reader, images)
        guard let user = reader.object("UserInfo"), !user.isEmpty else { return pane }
        var selection = try selection(user)
        if let sources {
            let same = sources.filter { $0.user == selection.user && $0.room == selection.room }
            guard !same.isEmpty else {
                throw .invalid(
                    user.path(of: "UserId"), selection.user.rawValue,
                    "one of those in TranscodeParams.UserInfos, of the same channel")
            }
            guard same.contains(where: { $0.tracks != .audio }) else {
                throw .invalid(
                    user.path(of: "UserId"), selection.user.rawValue,
                    "a user whose StreamType in UserInfos is 0 or 2: this user has audio only")
            }
            // Without a kind, the pane shows the one that is subscribed to.
            if selection.kind == nil { selection.kind = same.first?.kind }
        }
        pane.source = selection
        return pane
    }

    private func image(_ key: String, of reader: WireFields, _ allowed: AllowList) throws(CallError) -> String? {
        guard let text = try reader.text(key) else { return nil }
        do throws(InputError) {
            _ = try allowed.check(
                text, schemes: [.http, .https], field: reader.path(of: key), setting: "sources.allow")
        } catch {
            throw .invalid(reader.path(of: key), "found \(error.found ?? "no such URL"); expected \(error.expected)")
        }
        return text
    }

    // MARK: Encoding

    private static let videoCodecs: KeyValuePairs<String, VideoCodec?> = ["H.264": nil, "H.265": .h265]

    private func encoding(
        _ reader: WireFields, _ standard: Canvas
    ) throws(CallError) -> (EncodingSettings, RoomCanvas?) {
        guard let reader = reader.object("EncodeParams") else {
            throw .missing(
                reader.path(of: "EncodeParams"), "the encoding settings, with AudioBitrate, VideoWidth and so on")
        }
        var encoding = EncodingSettings(audioOnly: try reader.flag("AudioOnly") ?? false)
        encoding.audioBitrate = try reader.requiredInteger("AudioBitrate", in: 8...500, unit: "kbit/s") * 1000
        encoding.audioChannels = try reader.requiredInteger("AudioChannels", in: 1...2)
        let rates: KeyValuePairs = ["8000": 8000, "16000": 16000, "32000": 32000, "44100": 44100, "48000": 48000]
        _ = try reader.required("AudioSampleRate", "one of 8000, 16000, 32000, 44100, 48000 Hz")
        encoding.audioSampleRate = try reader.choice("AudioSampleRate", rates)
        guard !encoding.audioOnly else { return (encoding, nil) }

        // Leave default values unset, so that stating them explicitly changes nothing on air.
        encoding.videoCodec = try reader.choice("VideoCodec", Self.videoCodecs) ?? nil
        encoding.videoBitrate = try reader.requiredInteger("VideoBitrate", in: 1...10_000, unit: "kbit/s") * 1000
        encoding.gopFrames = try reader.requiredInteger("VideoGop", in: 1...60, unit: "frames")
        try enhance(&encoding, reader)
        var canvas = standard
        canvas.fps = try reader.requiredInteger("VideoFramerate", in: 1...60, unit: "frames/s")
        canvas.width = try length("VideoWidth", reader, standard.width)
        canvas.height = try length("VideoHeight", reader, standard.height)
        return (encoding, RoomCanvas(canvas))
    }

    /// Returns a side of the canvas, in even pixels. 0 stands for the service's default.
    private func length(_ key: String, _ reader: WireFields, _ standard: Int) throws(CallError) -> Int {
        let value = try reader.requiredInteger(key, in: 0...1920, unit: "pixels")
        return value == 0 ? standard : max(16, value & ~1)
    }

    /// Reads profile and preset from `EnhancedParam`, which SDKs send as JSON in a string.
    private func enhance(_ encoding: inout EncodingSettings, _ reader: WireFields) throws(CallError) {
        guard let text = try reader.text("EnhancedParam") else { return }
        let path = reader.path(of: "EnhancedParam")
        let shape = WireShape.object(["profile": .text, "preset": .text])
        guard let value = try? JSONValue(parsing: text.utf8), case .object = value,
            let known = try shape.normalised(value, path)
        else { throw .invalid(path, text, #"JSON in a string, as {"profile":"high","preset":"veryfast"}"#) }
        let fields = WireFields(known, path)
        encoding.profile = try choice("profile", of: encoding.profiles, fields)
        encoding.preset = try choice("preset", of: EncodingSettings.Preset.allCases, fields)
    }

    private func choice<Choice: RawRepresentable>(
        _ key: String, of choices: [Choice], _ reader: WireFields
    ) throws(CallError) -> Choice? where Choice.RawValue == String {
        guard let text = try reader.text(key) else { return nil }
        guard let choice = choices.first(where: { $0.rawValue == text }) else {
            throw .invalid(reader.path(of: key), text, "one of " + choices.map(\.rawValue).joined(separator: ", "))
        }
        return choice
    }

    // MARK: SEI

    private func sei(_ reader: WireFields) throws(CallError) -> SEISettings? {
        let custom = self[Self.customSEI]
        guard let reader = reader.object("SeiParams") else { return custom.map { SEISettings(custom: $0) } }
        var sei = SEISettings(custom: custom)
        if let type = try reader.integer("PayloadType", in: SEISettings.payloadTypes) { sei.payloadType = type }
        sei.layoutVolume = try reader.object("LayoutVolume").map { part throws(CallError) in try timing(part) }
        if let part = reader.object("PassThrough") {
            sei.passThrough = SEISettings.PassThrough(
                key: try part.text("PayloadContentKey", atMost: SEISettings.longestKey)
                    ?? SEISettings.PassThrough.defaultKey,
                content: try part.required(
                    "PayloadContent", "the text to pass through", atMost: SEISettings.longestText),
                timing: try timing(part))
        }
        return sei
    }

    private func timing(_ reader: WireFields) throws(CallError) -> SEISettings.Timing {
        SEISettings.Timing(
            intervalMs: try reader.integer("Interval", in: SEISettings.intervals, unit: "ms")
                ?? SEISettings.defaultInterval,
            followsIDR: try reader.choice("FollowIdr", ["0": false, "1": true]) ?? false)
    }
}
