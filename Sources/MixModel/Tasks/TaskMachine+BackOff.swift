extension TaskMachine {
    /// Returns the delay before start number `failures + 1`, in nanoseconds: 50 ms at first, then 0.5 s doubling to 30
    /// s.
    static func backOff(after failures: Int) -> Int64 {
        failures == 0 ? 50_000_000 : min(500_000_000 << Int64(min(failures - 1, 6)), 30_000_000_000)
    }
}
