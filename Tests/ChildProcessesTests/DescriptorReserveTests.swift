import Testing

@testable import ChildProcesses

struct DescriptorReserveTests {
    @Test(arguments: [
        (limit: 1 << 20, first: (1 << 20) - 32), (1024, 992), (256, 224), (160, 140), (64, 56), (8, 7), (0, 0),
    ])
    func theLastDescriptorsAreKeptFromStrangers(limit: Int, first: Int) { expect(.ofStrangers, limit, first) }

    @Test(arguments: [
        (limit: 1 << 20, first: (1 << 20) - 16), (1024, 1008), (256, 240), (160, 150), (64, 60), (8, 8), (0, 0),
    ])
    func theServiceGetsHalfOfThem(limit: Int, first: Int) { expect(.ofService, limit, first) }

    private func expect(_ reserve: DescriptorReserve, _ limit: Int, _ first: Int) {
        #expect(reserve.isReached(by: Int32(first), limit: limit) && reserve.isReached(by: .max, limit: limit))
        if first > 0 { #expect(!reserve.isReached(by: Int32(first - 1), limit: limit)) }
    }

    @Test func thisProcessHasSome() { #expect(!DescriptorReserve.ofStrangers.isReached) }
}
