/// The kinds of worker processes, named after their subcommands of `mixworker`.
public enum WorkerKind: String, CaseIterable, Hashable, Sendable {
    case relay, mixer, recorder, packager, rendition, ingest, pull, push, whip, whep, thumbnail, page

    /// Default limit of the process's memory, in MiB.
    ///
    /// docs/performance.md lists measured values: a mix of 16 people at 1080p takes 2.4 GiB of the counted memory.
    public var defaultMemory: Int {
        switch self {
        case .relay, .mixer, .ingest: 4096
        // The index of a long recording is built in memory when its file is closed.
        case .recorder: 2048
        // Serves many viewers.
        case .whep: 2048
        // A picture of 8K takes some 200 MiB.
        case .packager, .thumbnail, .rendition, .pull, .push, .whip, .page: 1024
        }
    }

    /// The place in the kernel's order of processes to kill when memory is short (`oom_score_adj`, -1000 to 1000). The
    /// process with the highest value is killed first: the most dispensable one, and the relay last of all.
    ///
    /// Grows from each parent to its children, because only a privileged process can lower it.
    public var memoryShortage: Int {
        switch self {
        case .relay, .ingest: 100
        case .mixer, .whip, .page: 300
        case .recorder, .packager, .pull, .push, .whep: 500
        case .rendition: 800
        case .thumbnail: 900
        }
    }

    /// Niceness of the process's threads, 0 to 19. Never less than that of the parent.
    ///
    /// A mixer has the niceness of other programs of the machine: with 1 it was later beside busy ones
    /// (docs/performance.md).
    public var niceness: Int32 {
        switch self {
        case .relay, .mixer, .ingest, .pull, .push, .whip, .whep, .page: 0
        case .recorder, .packager: 5
        case .rendition: 10
        case .thumbnail: 19
        }
    }

    /// Largest number of descriptors; `nil` means the limit of the service. A mix of 16 people uses 140.
    public var descriptors: UInt? {
        switch self {
        case .relay, .ingest: nil
        case .mixer, .packager: 1024
        // Several for each viewer, and for a browser.
        case .whep, .page: 4096
        case .recorder, .rendition, .pull, .push, .whip, .thumbnail: 256
        }
    }
}
