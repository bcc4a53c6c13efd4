import Testing

@testable import MediaFormats

struct FLVTagHeaderTests {
    @Test func aTagIsWrittenAsSpecified() {
        var bytes: [UInt8] = [0xAA]
        bytes.appendFLVTag(9, timestamp: 0x8102_0304, body: [7, 8])
        #expect(bytes == [0xAA, 9, 0, 0, 2, 2, 3, 4, 0x81, 0, 0, 0, 7, 8, 0, 0, 0, 13])
        let header = FLVTagHeader(bytes, at: 1)
        #expect(header == FLVTagHeader(kind: 9, size: 2, timestamp: 0x8102_0304))
        #expect(header?.tagLength == bytes.count - 1)
    }

    @Test func aHeaderThatIsCutShortIsNone() {
        var bytes: [UInt8] = []
        FLVTagHeader(kind: 8, size: 0xFF_FFFF, timestamp: .max).append(to: &bytes)
        #expect(FLVTagHeader(bytes, at: 0) == FLVTagHeader(kind: 8, size: 0xFF_FFFF, timestamp: .max))
        for count in 0..<FLVTag.headerLength { #expect(FLVTagHeader(bytes.prefix(count), at: 0) == nil) }
        for index in [-1, 1, 11, Int.max] { #expect(FLVTagHeader(bytes, at: index) == nil) }
    }

    @Test func aRepeatedTagDiffersInItsTimeOnly() {
        let tag = OutputTag(FLVTag(role: .metadata, timestamp: 0x0102_0304, body: [5]))
        #expect(tag.at(0xFFEE_DDCC) == OutputTag(FLVTag(role: .metadata, timestamp: 0xFFEE_DDCC, body: [5])))
    }
}
