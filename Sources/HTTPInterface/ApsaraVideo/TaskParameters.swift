import EventSubscription
import MixModel
import TextFormats

/// The parameters of a co-streaming task as the caller wrote them.
///
/// Holds the newest value of each parameter of `StartLiveMPUTask` and `UpdateLiveMPUTask`. The task stores them, and
/// answers return them unchanged.
package struct TaskParameters: Hashable, Sendable {
    /// The parameters in normalised form; see `WireShape`.
    private(set) var fields: [String: JSONValue]

    /// Maximum size of the stored document, in bytes.
    static let longestDocument = 64 << 10

    /// The kind of program: one source as it is, or a mix.
    enum MixMode: String, Hashable, Sendable {
        case single = "0"
        case mix = "1"
    }

    var mixMode: MixMode { fields["MixMode"] == .string("0") ? .single : .mix }

    subscript(key: String) -> String? {
        if case .string(let text)? = fields[key] { text } else { nil }
    }

    var reader: WireFields { WireFields(.object(fields), "") }

    // MARK: From and to the store

    /// Reads a stored document. `nil` if it is not a JSON object.
    init?(document: String) {
        guard case .object(let fields)? = try? JSONValue(parsing: document.utf8) else { return nil }
        self.fields = fields
    }

    func document() throws(CallError) -> String {
        let text = JSONText.of(.object(fields))
        guard text.utf8.count <= Self.longestDocument else {
            throw .invalid("the parameters", "\(text.utf8.count) bytes; expected at most \(Self.longestDocument)")
        }
        return text
    }

    /// The parameters as `ListRtcMPUTaskDetail` returns them: those of the current mode, without leftovers of the
    /// other.
    var answer: JSONValue {
        var shown = fields
        shown[mixMode == .single ? "TranscodeParams" : "SingleSubParams"] = nil
        shown[Self.customSEI] = nil
        return .object(shown)
    }

    // MARK: From a call

    /// Reads the parameters of `StartLiveMPUTask`.
    init(starting parameters: WireParameters) throws(CallError) {
        fields = [:]
        for name in ["AppId", "ChannelId", "TaskId"] {
            fields[name] = .string(try parameters.required(name, "an id"))
        }
        _ = try Self.name("ChannelId", parameters.required("ChannelId", "an id"), longest: 64)
        _ = try Self.taskName(parameters)
        fields["MixMode"] = .string(try Self.mixMode(parameters)?.rawValue ?? MixMode.mix.rawValue)
        try take(parameters)
        if let text = parameters["MaxIdleTime"] {
            _ = try parameters.integer("MaxIdleTime", in: Self.idleTimes)
            fields["MaxIdleTime"] = .string(text)
        }
        if let region = parameters["Region"] {
            guard Self.regions.contains(region) else {
                throw .invalid("Region", region, "one of " + Self.regions.joined(separator: ", "))
            }
            fields["Region"] = .string(region)
        }
        try checkWhole()
    }

    /// Returns the parameters after `UpdateLiveMPUTask`. Supplied values replace old ones, and omitted ones stay.
    func updated(with parameters: WireParameters) throws(CallError) -> TaskParameters {
        var new = self
        if let mode = try Self.mixMode(parameters) { new.fields["MixMode"] = .string(mode.rawValue) }
        try new.take(parameters)
        // `PayloadType` is given when a task starts. Updates do not carry it.
        if case .object(var sei)? = new.fields["SeiParams"], sei["PayloadType"] == nil,
            case .object(let old)? = fields["SeiParams"]
        {
            sei["PayloadType"] = old["PayloadType"]
            new.fields["SeiParams"] = .object(sei)
        }
        try new.checkWhole()
        return new
    }

    /// Returns the parameters after `SetLiveMpuTaskSei`.
    func withCustomSEI(_ text: String) -> TaskParameters {
        var new = self
        new.fields[Self.customSEI] = .string(text)
        return new
    }

    static let customSEI = "CustomSei"
    static let idleTimes = 10...86_400
    private static let regions = ["CN-Shanghai", "AP-Singapore", "EMAA-Saudi"]

    private static func mixMode(_ parameters: WireParameters) throws(CallError) -> MixMode? {
        guard let text = parameters["MixMode"] else { return nil }
        guard let mode = MixMode(rawValue: text) else {
            throw .invalid("MixMode", text, "0 for one stream as it is, or 1 for a mix")
        }
        return mode
    }

    private mutating func take(_ parameters: WireParameters) throws(CallError) {
        // Empty values count as omitted: SDKs send `[]` for unset parameters.
        var supplied: Set<String> = []
        for (name, shape) in Self.shapes {
            guard let text = parameters[name] else { continue }
            let value: JSONValue
            do throws(InputError) {
                value = try JSONValue(parsing: text.utf8)
            } catch {
                throw .invalid(name, "it is not JSON: found \(error.found ?? "something"), expected \(error.expected)")
            }
            guard let value = try shape.normalised(value, name) else { continue }
            fields[name] = value
            supplied.insert(name)
        }
        if let url = parameters["StreamURL"] {
            guard !supplied.contains("MultiStreamURL") else {
                throw .invalid("MultiStreamURL", "it was sent together with StreamURL: send one of them")
            }
            fields["StreamURL"] = .string(url)
            fields["MultiStreamURL"] = nil
        } else if supplied.contains("MultiStreamURL") {
            fields["StreamURL"] = nil
        }
        // A parameter of the other mode is an error in a call. A stored one from before is ignored.
        let stranger = mixMode == .single ? "TranscodeParams" : "SingleSubParams"
        if supplied.contains(stranger) {
            let other = mixMode == .single ? "1" : "0"
            throw .invalid(
                stranger,
                "it is for MixMode \(other), but MixMode is \(mixMode.rawValue): leave it out, or send MixMode=\(other)"
            )
        }
    }

    private func checkWhole() throws(CallError) {
        switch mixMode {
        case .single:
            guard fields["SingleSubParams"] != nil else {
                throw .missing("SingleSubParams", "the stream to show with MixMode 0, such as {\"UserId\":\"alice\"}")
            }
        case .mix:
            guard fields["TranscodeParams"] != nil else {
                throw .missing("TranscodeParams", "what to mix with MixMode 1, with EncodeParams and Layout")
            }
        }
        guard fields["StreamURL"] != nil || fields["MultiStreamURL"] != nil else {
            throw .missing(
                "StreamURL", "the URL to push to, such as rtmp://host/app/key; or MultiStreamURL for several")
        }
    }

    // MARK: Names

    /// Returns the name of a task, which must not have the prefix of automatic tasks.
    static func taskName(_ parameters: WireParameters) throws(CallError) -> String {
        let name = try name("TaskId", parameters.required("TaskId", "the task's id"), longest: 55)
        guard !name.hasPrefix(TaskID.automaticPrefix) else {
            throw .invalid(
                "TaskId", name,
                "an id that does not begin with \(TaskID.automaticPrefix), the prefix of rooms' own tasks")
        }
        return name
    }

    static func name(_ parameter: String, _ text: String, longest: Int) throws(CallError) -> String {
        let isName = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isName, 1...longest ~= text.utf8.count else {
            throw .invalid(parameter, text, "1 to \(longest) characters from A-Z, a-z, 0-9, - and _")
        }
        return text
    }

    // MARK: Shapes

    private static let shapes: [String: WireShape] = {
        let user: [String: WireShape] = ["UserId": .text, "ChannelId": .text, "SourceType": .text, "StreamType": .text]
        let encoding = [
            "AudioOnly", "AudioBitrate", "AudioChannels", "AudioSampleRate", "VideoBitrate", "VideoCodec",
            "VideoFramerate", "VideoGop", "VideoWidth", "VideoHeight",
        ].reduce(into: ["EnhancedParam": WireShape.embedded]) { $0[$1] = .text }
        let pane: [String: WireShape] = [
            "X": .text, "Y": .text, "Width": .text, "Height": .text, "ZOrder": .text, "RenderMode": .text,
            "BackgroundImageUrl": .text,
            "UserInfo": .object(["UserId": .text, "ChannelId": .text, "SourceType": .text]),
        ]
        let timing: [String: WireShape] = ["Interval": .text, "FollowIdr": .text]
        return [
            "MultiStreamURL": .array(.object(["URL": .text, "IsAliCdn": .flag])),
            "SingleSubParams": .object(["UserId": .text, "SourceType": .text, "StreamType": .text]),
            "TranscodeParams": .object([
                "UserInfos": .array(.object(user)),
                "Background": .object(["URL": .text, "RenderMode": .text]),
                "EncodeParams": .object(encoding),
                "Layout": .object(["UserPanes": .array(.object(pane))]),
            ]),
            "SeiParams": .object([
                "PayloadType": .text, "LayoutVolume": .object(timing),
                "PassThrough": .object(
                    timing.merging(["PayloadContent": .embedded, "PayloadContentKey": .text]) { $1 }),
            ]),
        ]
    }()
}
