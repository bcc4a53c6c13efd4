import CFontconfig
import Dispatch

/// The characters that all installed fonts together can draw. Others are drawn as boxes.
public struct FontCoverage: Sendable {
    /// The union of all fonts' characters; only read after it is built. `nil` if no font was found.
    private nonisolated(unsafe) let characters: OpaquePointer?

    /// The coverage of this machine's fonts, read once. The first use takes milliseconds, or longer if fontconfig has
    /// no cache. Fonts that are installed later count only for processes that start later.
    public static let installed = FontCoverage()

    /// Returns `installed`, which is read on a separate thread.
    static func load() async -> FontCoverage {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async { continuation.resume(returning: installed) }
        }
    }

    private init() {
        guard FcInit() != 0, let fonts = FcConfigGetFonts(nil, FcSetSystem), let all = FcCharSetCreate() else {
            characters = nil
            return
        }
        for index in 0..<Int(fonts.pointee.nfont) {
            var covered: OpaquePointer?
            guard FcPatternGetCharSet(fonts.pointee.fonts[index], FC_CHARSET, 0, &covered) == FcResultMatch, let covered
            else { continue }
            _ = FcCharSetMerge(all, covered, nil)
        }
        characters = all
    }

    /// Returns the characters of `text` that no font contains, each once, in order, at most `most` of them. Spaces,
    /// control characters and characters that only modify their neighbours need no font.
    public func missing(in text: String, most: Int = 8) -> [Unicode.Scalar] {
        guard let characters else { return [] }
        var found: [Unicode.Scalar] = []
        for scalar in text.unicodeScalars where !scalar.isASCII && found.count < most {
            let properties = scalar.properties
            guard !properties.isWhitespace, !properties.isDefaultIgnorableCodePoint, !found.contains(scalar),
                properties.generalCategory != .control
            else { continue }
            if FcCharSetHasChar(characters, scalar.value) == 0 { found.append(scalar) }
        }
        return found
    }

    /// A script that is common in names in live rooms, with a sample text.
    public struct Script: Sendable {
        public var name: String
        public var sample: String
    }

    /// Scripts that a machine prepared with `deploy/setup.sh --fonts` can draw.
    public static let scripts = [
        Script(name: "Chinese", sample: "直播间主持人"), Script(name: "Japanese", sample: "ひらがなカタカナ"),
        Script(name: "Korean", sample: "한국어방송"), Script(name: "Thai", sample: "ไทย"),
        Script(name: "Hindi", sample: "हिन्दी"), Script(name: "emoji", sample: "😀🎉🔥"),
    ]

    /// The names of the scripts that no installed font supports.
    public var missingScripts: [String] { Self.scripts.filter { !missing(in: $0.sample).isEmpty }.map(\.name) }
}
