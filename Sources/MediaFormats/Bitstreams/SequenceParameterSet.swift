import EncodedMedia

/// Picture size, colour, frame rate and reordering from an SPS; this file reads H.264 (ITU-T H.264 §7.3.2.1.1 and
/// §E.1.1).
public struct SequenceParameterSet: Hashable, Sendable {
    /// Size of the cropped picture, in pixels.
    public let width: Int
    public let height: Int
    public let colour: ColourSignal
    /// Frames per second from `vui_timing_info`; `nil` if not signalled.
    public let frameRate: Double?
    /// Number of frames that may be decoded before a frame that is shown earlier; `nil` if the SPS leaves it open.
    public let reorderDepth: Int?

    /// Reads an SPS of H.264. `nil` if the bytes end early or are not an SPS.
    public init?(nalUnit: [UInt8]) {
        guard NALUnitKind(nalUnit, .h264) == .sequenceParameterSet else { return nil }
        var bits = BitReader(removingEmulationPrevention: nalUnit.dropFirst())
        let profile = bits.read(8)
        bits.skip(16)
        _ = bits.unsignedExpGolomb()
        var chromaFormat: UInt32 = 1
        if let chroma = Chroma(profile, &bits) {
            chromaFormat = chroma.format
            bits.skip(1)
            if bits.flag() { SequenceParameterSet.skipScalingMatrix(&bits, lists: chromaFormat == 3 ? 12 : 8) }
        }
        _ = bits.unsignedExpGolomb()
        let orderType = bits.unsignedExpGolomb()
        switch orderType {
        case 0: _ = bits.unsignedExpGolomb()
        case 1:
            bits.skip(1)
            _ = bits.signedExpGolomb()
            _ = bits.signedExpGolomb()
            for _ in 0..<min(bits.unsignedExpGolomb(), 255) { _ = bits.signedExpGolomb() }
        default: break
        }
        _ = bits.unsignedExpGolomb()
        bits.skip(1)
        let widthInMacroblocks = Int(bits.unsignedExpGolomb()) + 1
        let heightInMapUnits = Int(bits.unsignedExpGolomb()) + 1
        let framesOnly = bits.flag()
        if !framesOnly { bits.skip(1) }
        bits.skip(1)
        var crop = (left: 0, right: 0, top: 0, bottom: 0)
        if bits.flag() {
            crop.left = Int(bits.unsignedExpGolomb())
            crop.right = Int(bits.unsignedExpGolomb())
            crop.top = Int(bits.unsignedExpGolomb())
            crop.bottom = Int(bits.unsignedExpGolomb())
        }
        let horizontalUnit = chromaFormat == 1 || chromaFormat == 2 ? 2 : 1
        let verticalUnit = (chromaFormat == 1 ? 2 : 1) * (framesOnly ? 1 : 2)
        width = widthInMacroblocks * 16 - (crop.left + crop.right) * horizontalUnit
        height = heightInMapUnits * 16 * (framesOnly ? 1 : 2) - (crop.top + crop.bottom) * verticalUnit
        let usability = bits.flag() ? VideoUsability(&bits) : nil
        guard !bits.isPastEnd, width > 0, height > 0, width <= 16384, height <= 16384 else { return nil }
        colour = usability?.colour ?? .unsignalled
        frameRate = usability?.frameRate
        // Type 2 is decoding order (§8.2.1.3); the Baseline profile has no B slices (§A.2.1).
        reorderDepth = usability?.reorderDepth ?? (orderType == 2 || profile == 66 ? 0 : nil)
    }

    private static func skipScalingMatrix(_ bits: inout BitReader, lists: Int) {
        for index in 0..<lists where bits.flag() {
            var last: Int32 = 8
            var next: Int32 = 8
            for _ in 0..<(index < 6 ? 16 : 64) {
                if next != 0 { next = (last &+ bits.signedExpGolomb() &+ 256) % 256 }
                last = next == 0 ? last : next
            }
        }
    }
}

extension SequenceParameterSet {
    /// The chroma format and the bits beyond 8 of each sample, which an SPS of H.264 states only in high profiles.
    struct Chroma: Hashable {
        let format: UInt32
        let lumaDepth: UInt32
        let chromaDepth: UInt32

        private static let profiles: Set<UInt32> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]

        /// Reads them from an SPS of H.264; `nil` if its profile has none.
        init?(nalUnit: [UInt8]) {
            var bits = BitReader(removingEmulationPrevention: nalUnit.dropFirst())
            let profile = bits.read(8)
            bits.skip(16)
            _ = bits.unsignedExpGolomb()
            self.init(profile, &bits)
        }

        /// Reads them where they begin.
        fileprivate init?(_ profile: UInt32, _ bits: inout BitReader) {
            guard Self.profiles.contains(profile) else { return nil }
            format = bits.unsignedExpGolomb()
            if format == 3 { bits.skip(1) }
            lumaDepth = bits.unsignedExpGolomb()
            chromaDepth = bits.unsignedExpGolomb()
        }
    }
}

/// The VUI of an SPS (ITU-T H.264 §E.1.1).
private struct VideoUsability {
    var colour: ColourSignal
    var frameRate: Double?
    var reorderDepth: Int?

    init(_ bits: inout BitReader) {
        colour = ColourSignal(usability: &bits)
        if bits.flag() {
            let unitsInTick = bits.read(32)
            let timeScale = bits.read(32)
            bits.skip(1)
            // Two ticks a frame: the time scale counts fields (§E.2.1).
            if unitsInTick > 0 { frameRate = Double(timeScale) / Double(unitsInTick) / 2 }
        }
        let hasNALParameters = bits.flag()
        if hasNALParameters { VideoUsability.skipHypotheticalDecoder(&bits) }
        let hasVCLParameters = bits.flag()
        if hasVCLParameters { VideoUsability.skipHypotheticalDecoder(&bits) }
        if hasNALParameters || hasVCLParameters { bits.skip(1) }
        bits.skip(1)
        if bits.flag() {
            bits.skip(1)
            for _ in 0..<4 { _ = bits.unsignedExpGolomb() }
            reorderDepth = Int(bits.unsignedExpGolomb())
        }
    }

    private static func skipHypotheticalDecoder(_ bits: inout BitReader) {
        let count = min(bits.unsignedExpGolomb(), 31) + 1
        bits.skip(8)
        for _ in 0..<count {
            _ = bits.unsignedExpGolomb()
            _ = bits.unsignedExpGolomb()
            bits.skip(1)
        }
        bits.skip(20)
    }
}

extension ColourSignal {
    /// Reads the beginning of a VUI, up to and including the location of chroma samples: the same in H.264 and H.265.
    package init(usability bits: inout BitReader) {
        func specified(_ value: UInt32) -> Int? { value == 2 ? nil : Int(value) }
        self.init()
        if bits.flag(), bits.read(8) == 255 { bits.skip(32) }
        if bits.flag() { bits.skip(1) }
        if bits.flag() {
            bits.skip(3)
            isFullRange = bits.flag()
            if bits.flag() {
                primaries = specified(bits.read(8))
                transfer = specified(bits.read(8))
                matrix = specified(bits.read(8))
            }
        }
        if bits.flag() {
            _ = bits.unsignedExpGolomb()
            _ = bits.unsignedExpGolomb()
        }
    }
}
