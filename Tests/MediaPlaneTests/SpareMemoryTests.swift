import Testing

@testable import ProgramRelay

/// The condition for keeping a process in reserve.
@Suite struct SpareMemoryTests {
    @Test(arguments: [
        ("MemTotal:       24689340 kB\nMemFree:          812 kB\nMemAvailable:   22000000 kB\n", true),
        ("MemTotal:       24689340 kB\nMemFree:     20000000 kB\nMemAvailable:    6000000 kB\n", false),
        ("MemTotal:           1000 kB\nMemAvailable:        250 kB\n", true),
        ("MemTotal:           1000 kB\n", false), ("", false), ("MemTotal: x kB\nMemAvailable: y kB", false),
    ]) func aQuarterHasToBeFree(text: String, isPlentiful: Bool) {
        #expect(SpareMemory.isPlentiful(text) == isPlentiful)
    }
}
