import Testing

@testable import RoomService

struct DescriptorLimitTests {
    @Test(arguments: [
        (limit: 1 << 20, first: (1 << 20) - 32), (1024, 992), (256, 224), (160, 140), (64, 56), (8, 7), (0, 0),
    ])
    func theLastDescriptorsAreKept(limit: Int, first: Int) {
        #expect(DescriptorLimit.isNear(Int32(first), limit: limit) && DescriptorLimit.isNear(.max, limit: limit))
        if first > 0 { #expect(!DescriptorLimit.isNear(Int32(first - 1), limit: limit)) }
    }

    @Test func thisProcessHasSome() { #expect(!DescriptorLimit.isNear) }
}
