/// Damages layout files in the ways that operators, editors and networks do, and in other, random ways.
public struct TemplateMutator: Sendable {
    private let bases: [[UInt8]]

    /// Creates a mutator.
    ///
    /// - Parameter files: Files to mutate, in addition to a template that has every key.
    public init(_ files: [[UInt8]] = []) {
        bases = [Array(Self.everyKey.utf8)] + files
    }

    /// Returns a damaged file; the same bytes for the same seed.
    public func template(seed: UInt64) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        var bytes = bases.randomElement(using: &random) ?? []
        // One change finds most faults; several find those that a single change hides.
        for _ in 0..<(Bool.random(using: &random) ? 1 : Int.random(in: 2...4, using: &random)) {
            guard !bytes.isEmpty else { break }
            mutate(&bytes, &random)
        }
        return bytes
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let index = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0...8, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: bytes.removeSubrange(index..<min(bytes.count, index + Int.random(in: 1...12, using: &random)))
        case 3: bytes.insert(contentsOf: (Self.fragments.randomElement(using: &random) ?? "").utf8, at: index)
        case 4, 5: replaceNumber(in: &bytes, from: index, &random)
        case 6, 7: replaceWord(in: &bytes, from: index, &random)
        default:
            let end = min(bytes.count, index + Int.random(in: 1...60, using: &random))
            bytes.insert(contentsOf: Array(bytes[index..<end]), at: Int.random(in: bytes.indices, using: &random))
        }
    }

    /// Replaces a number, which keeps the file readable and moves values beyond their limits.
    private func replaceNumber(in bytes: inout [UInt8], from index: Int, _ random: inout SeededGenerator) {
        func isPart(_ byte: UInt8) -> Bool {
            0x30...0x39 ~= byte || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
        }
        guard let start = bytes[index...].firstIndex(where: isPart) else { return }
        let end = bytes[start...].firstIndex { !isPart($0) } ?? bytes.endIndex
        bytes.replaceSubrange(start..<end, with: (Self.numbers.randomElement(using: &random) ?? "0").utf8)
    }

    /// Replaces a word, which keeps the file readable and puts keys and words where they do not belong.
    private func replaceWord(in bytes: inout [UInt8], from index: Int, _ random: inout SeededGenerator) {
        let quote = UInt8(ascii: "\"")
        guard let start = bytes[index...].firstIndex(of: quote),
            let end = bytes[(start + 1)...].firstIndex(of: quote)
        else { return }
        bytes.replaceSubrange((start + 1)..<end, with: (Self.words.randomElement(using: &random) ?? "").utf8)
    }

    private static let fragments = [
        "{", "}", "[", "]", ":", ",", "\"", "\\u", "\\ud800", "null", "true", "false", "-", "1e308", "1e-400",
        "0.0000001", "-0", "99999999999999999999", "\"panes\":[", "\"slot\":1,", "\"when\":{", "\u{0}", "é", "\n", "//",
    ]
    private static let numbers = [
        "0", "1", "2", "3", "16", "17", "0.5", "0.25", "0.02", "0.333333333333", "-1", "1e3", "1e-9", "0.9999999",
        "5000",
        "7680", "7681", "1000", "840", "9223372036854775807", "1e300",
    ]
    private static let words = [
        "fit", "cover", "contain", "align", "center", "top-left", "gap", "margin", "border", "label", "fallback",
        "absent",
        "stalled", "card", "nothing", "last-frame", "image", "x.png", "../x", "http://a/b", "overlays", "text", "clock",
        "page",
        "HH:mm", "place", "x", "y", "width", "height", "120px", "1px", "-2px", "size", "opacity", "audio", "loudest",
        "gains", "gain", "mute", "user", "role", "host", "stream", "screen", "camera", "slot", "panes", "rest",
        "algorithm", "grid", "solo", "stack", "spotlight", "side-by-side", "picture-in-picture", "featured", "edge",
        "max",
        "min", "people", "hosts", "when", "canvas", "portrait", "landscape", "sources", "mixed", "transition", "cut",
        "duration", "easing", "ease-in", "tileAspect", "16:9", "0:1", "#A1B2C3", "#12", "", "\\u0000", "𝄞",
        "omitAudioOnly",
    ]

    private static let everyKey = """
        {"$schema":"layout.schema.json","description":"d","canvas":{"width":640,"height":360,"fps":20,
        "background":"#000000","image":"b.png","imageFit":"contain"},"fit":"cover","align":"top","gap":0.02,"margin":0.05,
        "border":{"width":0.01,"color":"#FFFFFF"},"opacity":0.9,"label":{"edge":"top","side":"right","size":0.03,
        "color":"#FFFFFF","background":"#000000","backgroundOpacity":0.5},"fallback":{"cameraOff":"card",
        "absent":{"image":"a.png"},"stalled":"last-frame"},"omitAudioOnly":false,"transition":{"duration":300,
        "easing":"ease-out"},"audio":{"loudest":3,"gains":[{"user":"u1","gain":1.5},{"role":"guest","stream":"screen",
        "mute":true}]},"overlays":[{"image":"l.png","place":"top-right","margin":0.02,"size":0.2},{"text":"Live","x":0,
        "y":0,"width":0.2,"height":0.1,"align":"left","bold":true},{"clock":"HH:mm","utcOffset":60,"place":"bottom"},
        {"page":"https://a.example/b?c=1","x":0,"y":0.5,"width":0.5,"height":0.25,"opacity":0.5}],
        "arrangements":[{"when":{"people":{"min":1,"max":2},"hosts":1,"guests":{"max":3},"audioOnly":{"min":0},
        "screen":false,"canvas":"landscape","sources":"mixed"},"panes":[{"slot":1,"x":0,"y":0,"width":"320px","height":1},
        {"role":"host","stream":"camera","x":0.25,"y":0.25,"width":0.5,"height":0.5,"z":3,"fit":"contain","label":false},
        {"user":"u0","x":0,"y":0.1,"width":0.3,"height":0.3,"z":4,"fallback":{"absent":"card"}}],
        "rest":{"x":0.5,"y":0,"width":0.5,"height":1,"z":1,"algorithm":"picture-in-picture","gap":0}},
        {"when":{"people":{"max":4}},"algorithm":"picture-in-picture","corner":"top-left","size":0.2},
        {"when":{"people":5},"algorithm":"spotlight","featured":{"stream":"screen"},"edge":"left","size":0.3,"max":4,
        "tileAspect":"4:3"},{"when":{"screen":true},"algorithm":"stack","direction":"horizontal"},
        {"when":{"people":{"max":8}},"algorithm":"side-by-side"},{"algorithm":"grid","tileAspect":"16:9","margin":0.1}]}
        """
}
