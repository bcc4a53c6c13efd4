import EncodedMedia

extension SequenceParameterSet {
    /// Reads an SPS of H.265 (ITU-T H.265 §7.3.2.2.1 and §E.2.1). `nil` if the bytes end early or are not an SPS.
    public init?(h265 unit: [UInt8]) {
        guard NALUnitKind(unit, .h265) == .sequenceParameterSet else { return nil }
        var bits = BitReader(removingEmulationPrevention: unit.dropFirst(2))
        bits.skip(4)
        let subLayers = Int(bits.read(3))
        bits.skip(1)
        Self.skipProfileTierLevel(&bits, subLayers: subLayers)
        _ = bits.unsignedExpGolomb()
        let chromaFormat = bits.unsignedExpGolomb()
        if chromaFormat == 3 { bits.skip(1) }
        let codedWidth = Int(bits.unsignedExpGolomb())
        let codedHeight = Int(bits.unsignedExpGolomb())
        var window = (left: 0, right: 0, top: 0, bottom: 0)
        if bits.flag() {
            window.left = Int(bits.unsignedExpGolomb())
            window.right = Int(bits.unsignedExpGolomb())
            window.top = Int(bits.unsignedExpGolomb())
            window.bottom = Int(bits.unsignedExpGolomb())
        }
        width = codedWidth - (window.left + window.right) * (chromaFormat == 1 || chromaFormat == 2 ? 2 : 1)
        height = codedHeight - (window.top + window.bottom) * (chromaFormat == 1 ? 2 : 1)
        _ = bits.unsignedExpGolomb()
        _ = bits.unsignedExpGolomb()
        let pictureOrderBits = Int(min(bits.unsignedExpGolomb(), 12)) + 4
        var reordered: UInt32 = 0
        for _ in (bits.flag() ? 0 : subLayers)...subLayers {
            _ = bits.unsignedExpGolomb()
            reordered = bits.unsignedExpGolomb()
            _ = bits.unsignedExpGolomb()
        }
        for _ in 0..<6 { _ = bits.unsignedExpGolomb() }
        if bits.flag(), bits.flag() { Self.skipScalingLists(&bits) }
        bits.skip(2)
        if bits.flag() {
            bits.skip(8)
            _ = bits.unsignedExpGolomb()
            _ = bits.unsignedExpGolomb()
            bits.skip(1)
        }
        guard Self.skipReferenceSets(&bits) else { return nil }
        if bits.flag() {
            // num_long_term_ref_pics_sps is 0…32.
            for _ in 0..<min(bits.unsignedExpGolomb(), 32) { bits.skip(pictureOrderBits + 1) }
        }
        bits.skip(2)
        var usability = (colour: ColourSignal.unsignalled, frameRate: Double?.none)
        if bits.flag() { usability = Self.readUsability(&bits) }
        guard !bits.isPastEnd, width > 0, height > 0, width <= 16384, height <= 16384 else { return nil }
        colour = usability.colour
        frameRate = usability.frameRate
        reorderDepth = Int(min(reordered, 16))
    }

    /// Skips `profile_tier_level` with a general profile (§7.3.3).
    private static func skipProfileTierLevel(_ bits: inout BitReader, subLayers: Int) {
        bits.skip(96)
        guard subLayers > 0 else { return }
        var length = 0
        for _ in 0..<subLayers {
            if bits.flag() { length += 88 }
            if bits.flag() { length += 8 }
        }
        bits.skip(2 * (8 - subLayers) + length)
    }

    /// Skips `scaling_list_data` (§7.3.4).
    private static func skipScalingLists(_ bits: inout BitReader) {
        for size in 0..<4 {
            for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
                guard bits.flag() else {
                    _ = bits.unsignedExpGolomb()
                    continue
                }
                if size > 1 { _ = bits.signedExpGolomb() }
                for _ in 0..<min(64, 1 << (4 + 2 * size)) { _ = bits.signedExpGolomb() }
            }
        }
    }

    /// Skips every `st_ref_pic_set` (§7.3.7).
    ///
    /// - Returns: False if there are more sets or pictures than the format allows.
    private static func skipReferenceSets(_ bits: inout BitReader) -> Bool {
        let count = bits.unsignedExpGolomb()
        guard count <= 64 else { return false }
        // Pictures in the previous set.
        var pictures = 0
        for index in 0..<count {
            if index > 0, bits.flag() {
                bits.skip(1)
                _ = bits.unsignedExpGolomb()
                var kept = 0
                for _ in 0...pictures where bits.flag() || bits.flag() { kept += 1 }
                pictures = kept
            } else {
                pictures = Int(bits.unsignedExpGolomb()) + Int(bits.unsignedExpGolomb())
                guard pictures <= 32 else { return false }
                for _ in 0..<pictures {
                    _ = bits.unsignedExpGolomb()
                    bits.skip(1)
                }
            }
        }
        return true
    }

    /// Reads the VUI up to its timing information (§E.2.1).
    private static func readUsability(_ bits: inout BitReader) -> (colour: ColourSignal, frameRate: Double?) {
        let colour = ColourSignal(usability: &bits)
        bits.skip(3)
        if bits.flag() { for _ in 0..<4 { _ = bits.unsignedExpGolomb() } }
        guard bits.flag() else { return (colour, nil) }
        let unitsInTick = bits.read(32)
        let timeScale = bits.read(32)
        // One tick a frame, unlike H.264 (§E.3.1).
        return (colour, unitsInTick > 0 ? Double(timeScale) / Double(unitsInTick) : nil)
    }
}
