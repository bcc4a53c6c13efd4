/// The ratio of width to height, both 1…100.
public struct Aspect: Hashable, Sendable {
    public let width: Int
    public let height: Int

    /// Creates a ratio; `nil` if a side is outside 1…100.
    public init?(width: Int, height: Int) {
        guard 1...100 ~= width, 1...100 ~= height else { return nil }
        self.width = width
        self.height = height
    }

    private init(_ width: Int, _ height: Int) {
        self.width = width
        self.height = height
    }

    static let square = Aspect(1, 1)
    static let fourToThree = Aspect(4, 3)
    static let threeToFour = Aspect(3, 4)

    /// Creates a ratio from text such as `16:9`; `nil` if the text is not one.
    public init?(_ text: String) {
        let sides = text.split(separator: ":", omittingEmptySubsequences: false)
        guard sides.count == 2,
            sides.allSatisfy({ $0.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } }),
            let width = Int(sides[0]), let height = Int(sides[1])
        else { return nil }
        self.init(width: width, height: height)
    }
}
