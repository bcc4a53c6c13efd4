import Foundation
import Testing

@testable import MixModel

/// What counts as black, and as the same picture.
@Suite struct PictureSampleTests {
    private static let count = PictureSample.side * PictureSample.side

    /// Returns a sample whose first parts differ from the rest.
    private func sample(_ luma: UInt8, first: Int = 0, _ other: UInt8 = 0) throws -> PictureSample {
        let parts = (0..<Self.count).map { $0 < first ? other : luma }
        return try #require(PictureSample(parts: parts))
    }

    @Test func aPictureWithALittleLightIsBlack() throws {
        #expect(try sample(0).isBlack && sample(25).isBlack)
        #expect(try !sample(26).isBlack)
        // 2 % of 1024 parts are 20.48.
        #expect(try sample(16, first: 20, 255).isBlack)
        #expect(try !sample(16, first: 21, 255).isBlack)
    }

    @Test func aPartThatMovesMakesAnotherPicture() throws {
        let picture = try sample(100)
        #expect(try picture.isSamePicture(as: sample(102)) && picture.isSamePicture(as: sample(98)))
        #expect(try !picture.isSamePicture(as: sample(100, first: 1, 103)))
        #expect(try !sample(0).isSamePicture(as: sample(255)))
    }

    @Test func onlyWholeSamplesAreRead() throws {
        #expect(PictureSample(parts: []) == nil)
        #expect(PictureSample(parts: [UInt8](repeating: 0, count: Self.count + 1)) == nil)
        let picture = try sample(7, first: 3, 200)
        #expect(try JSONDecoder().decode(PictureSample.self, from: JSONEncoder().encode(picture)) == picture)
        for text in ["[]", "[1,2]", "\"x\"", "[\(Array(repeating: "256", count: Self.count).joined(separator: ","))]"] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(PictureSample.self, from: Data(text.utf8))
            }
        }
    }
}
