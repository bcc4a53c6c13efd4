import Testing

@testable import MediaFormats

@Suite struct AMF0Tests {
    /// Values that servers insert between the relevant ones.
    @Test func everyValueOfAMF0ThatServersUseIsRead() {
        let values: [AMF0] = [
            .number(-0.5), .boolean(true), .string("é"), .null, .array([.number(1), .array([]), .string("x")]),
            .object([.init(name: "a", value: .object([.init(name: "b", value: .null)]))]),
        ]
        var bytes: [UInt8] = []
        for value in values { value.encode(into: &bytes) }
        #expect(AMF0.decodeAll(bytes) == values)
        // A long string and an ECMA array, which are read but never written.
        #expect(AMF0.decodeAll([12, 0, 0, 0, 1, 0x41]) == [.string("A")])
        #expect(
            AMF0.decodeAll([8, 0, 0, 0, 1, 0, 1, 0x61, 1, 1, 0, 0, 9]) == [
                .object([.init(name: "a", value: .boolean(true))])
            ])
        for length in bytes.indices { #expect(AMF0.decodeAll(Array(bytes[..<length])).count < values.count) }
        // Excessive nesting, and counts that exceed the data.
        #expect(AMF0.decodeAll([UInt8](repeating: 10, count: 5_000)).isEmpty)
        #expect(AMF0.decodeAll([10, 0xFF, 0xFF, 0xFF, 0xFF, 5]).isEmpty)
    }
}
