import EncodedMedia

/// The colour description as options of the encoders. A `nil` value stays unsignalled.
extension ColourSignal {
    /// Options of x264 (`option-string` of `x264enc`).
    var x264Options: [String] {
        func name(_ value: Int?, _ names: [Int: String]) -> String { value.flatMap { names[$0] } ?? "undef" }
        return [
            "colorprim=\(name(primaries, Self.primariesNames))", "transfer=\(name(transfer, Self.transferNames))",
            "colormatrix=\(name(matrix, Self.matrixNames))", "fullrange=\(isFullRange ? "on" : "off")",
        ]
    }

    /// Options of x265, by the numbers of ITU-T H.273.
    var x265Options: [String] {
        [
            "colorprim=\(primaries ?? 2)", "transfer=\(transfer ?? 2)", "colormatrix=\(matrix ?? 2)",
            "range=\(isFullRange ? "full" : "limited")",
        ]
    }

    private static let primariesNames = [
        1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "film", 9: "bt2020",
        10: "smpte428", 11: "smpte431", 12: "smpte432",
    ]
    private static let transferNames = [
        1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "linear", 9: "log100",
        10: "log316", 11: "iec61966-2-4", 12: "bt1361e", 13: "iec61966-2-1", 14: "bt2020-10", 15: "bt2020-12",
        16: "smpte2084", 17: "smpte428", 18: "arib-std-b67",
    ]
    private static let matrixNames = [
        0: "GBR", 1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "YCgCo", 9: "bt2020nc",
        10: "bt2020c",
    ]
}
