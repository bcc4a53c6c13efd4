// swift-tools-version: 6.2
import Foundation
import PackageDescription

// MIX_ONLY narrows the package while working on one part of it:
//   pure   – the modules without C or network (proves that they need neither)
//   media  – pure + everything that links GStreamer
//   control – pure + everything that must not
//   bench  – control + RTMP + Benchmarks
//   fuzz   – control + RTMP + Fuzzing, for `--sanitize fuzzer`
// Unset, the whole package is described. CI builds everything.
let only = ProcessInfo.processInfo.environment["MIX_ONLY"] ?? "all"
let wantsMedia = only == "all" || only == "media"
let wantsControl = ["all", "control", "bench", "fuzz"].contains(only)

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
]

var products: [Product] = []
var dependencies: [Package.Dependency] = []
var targets: [Target] = [
    .target(name: "ChildProcesses", swiftSettings: strict),
    .target(name: "TextFormats", swiftSettings: strict),
    .target(name: "EncodedMedia", swiftSettings: strict),
    .target(name: "SocketIO", dependencies: ["TextFormats"], swiftSettings: strict),
    .target(name: "LayoutEngine", dependencies: ["TextFormats"], swiftSettings: strict),
    .target(name: "MediaFormats", dependencies: ["EncodedMedia", "TextFormats"], swiftSettings: strict),
    .target(name: "MixModel", dependencies: ["EncodedMedia", "LayoutEngine", "TextFormats"], swiftSettings: strict),
    .target(name: "RoomChannel", dependencies: ["EncodedMedia", "MixModel"], swiftSettings: strict),
    .target(name: "ProgramSplicer", dependencies: ["MediaFormats", "MixModel"], swiftSettings: strict),
    .target(name: "TestSupport", path: "Tests/Support", exclude: ["Offers"], swiftSettings: strict),
    .target(
        name: "MediaSupport", dependencies: ["MediaFormats", "MixModel", "ProgramSplicer", "TestSupport"],
        path: "Tests/MediaSupport", swiftSettings: strict),
    .testTarget(
        name: "LayoutEngineTests", dependencies: ["LayoutEngine", "TestSupport"], exclude: ["Golden"],
        swiftSettings: strict),
    .testTarget(name: "ChildProcessesTests", dependencies: ["ChildProcesses"], swiftSettings: strict),
    .testTarget(name: "TextFormatsTests", dependencies: ["TestSupport", "TextFormats"], swiftSettings: strict),
    .testTarget(
        name: "SocketIOTests", dependencies: ["SocketIO", "TestSupport", "TextFormats"], swiftSettings: strict),
    .testTarget(name: "EncodedMediaTests", dependencies: ["EncodedMedia", "TestSupport"], swiftSettings: strict),
    .testTarget(
        name: "MediaFormatsTests", dependencies: ["MediaFormats", "MediaSupport", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "MixModelTests", dependencies: ["MixModel", "TestSupport"], swiftSettings: strict),
    .testTarget(name: "RoomChannelTests", dependencies: ["RoomChannel", "TestSupport"], swiftSettings: strict),
    .testTarget(
        name: "ProgramSplicerTests", dependencies: ["MediaSupport", "ProgramSplicer", "TestSupport"],
        swiftSettings: strict),
]

if wantsMedia || wantsControl {
    dependencies += [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    ]
}

if wantsMedia || only == "bench" || only == "fuzz" {
    targets += [
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .target(name: "CEpoll"),
        .target(
            name: "RTMP", dependencies: ["CEpoll", "COpenSSL", "ChildProcesses", "MediaFormats", "TextFormats"],
            swiftSettings: strict),
    ]
}

if wantsMedia {
    products += [.executable(name: "mixworker", targets: ["MixWorker"])]
    targets += [
        .systemLibrary(
            name: "CGStreamer",
            pkgConfig: "gstreamer-1.0 gstreamer-app-1.0 gstreamer-video-1.0 gstreamer-audio-1.0 gstreamer-sdp-1.0",
            providers: [.apt(["libgstreamer1.0-dev", "libgstreamer-plugins-base1.0-dev"])]),
        .target(
            name: "GStreamerKit", dependencies: ["CGStreamer", "MediaFormats", "TextFormats"], swiftSettings: strict),
        .systemLibrary(name: "CFontconfig", pkgConfig: "fontconfig", providers: [.apt(["libfontconfig-dev"])]),
        .target(
            name: "ProgramMixer", dependencies: ["CFontconfig", "GStreamerKit", "ProgramSplicer"], swiftSettings: strict
        ),
        .target(
            name: "ViewerProbe", dependencies: ["ChildProcesses", "MediaFormats", "MixModel"], swiftSettings: strict),
        .target(name: "CContainment"),
        .target(name: "CForkServer"),
        .target(name: "ForkServer", dependencies: ["CForkServer", "ChildProcesses"], swiftSettings: strict),
        .target(name: "ProcessContainment", dependencies: ["CContainment"], swiftSettings: strict),
        .target(
            name: "ProgramRelay",
            dependencies: [
                "ChildProcesses", "ForkServer", "GStreamerKit", "ProgramSplicer", "RTMP",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "StreamIngest",
            dependencies: ["MediaFormats", "MixModel", "RTMP", .product(name: "Logging", package: "swift-log")],
            swiftSettings: strict),
        .target(
            name: "WebRTCGateway",
            dependencies: [
                "GStreamerKit", "MediaFormats", "MixModel", "RTMP", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "PageCapture",
            dependencies: [
                "ChildProcesses", "GStreamerKit", "MediaFormats", "MixModel", "RTMP", "WebRTCGateway",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "MixWorker",
            dependencies: [
                "ChildProcesses", "ForkServer", "PageCapture", "ProcessContainment", "ProgramMixer", "ProgramRelay",
                "StreamIngest",
                "ViewerProbe", "WebRTCGateway",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ViewerProbeTests", dependencies: ["TestSupport", "ViewerProbe"], swiftSettings: strict),
        .target(
            name: "WebRTCSupport", dependencies: ["EncodedMedia", "GStreamerKit", "TestSupport"],
            path: "Tests/WebRTCSupport", swiftSettings: strict),
        .testTarget(name: "GStreamerKitTests", dependencies: ["GStreamerKit"], swiftSettings: strict),
        .testTarget(
            name: "MediaPlaneTests",
            dependencies: [
                "ChildProcesses", "COpenSSL", "ForkServer", "MediaSupport", "PageCapture", "ProcessContainment",
                "ProgramMixer", "ProgramRelay", "StreamIngest", "TestSupport", "ViewerProbe", "WebRTCGateway",
                "WebRTCSupport",
            ],
            exclude: ["Golden"],
            swiftSettings: strict),
    ]
}

if wantsControl {
    products += [.executable(name: "mixorchestrator", targets: ["MixOrchestrator"])]
    dependencies += [
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.20.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.5.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
        .package(url: "https://github.com/apple/swift-crypto", "4.0.0"..<"5.0.0"),
        .package(
            url: "https://github.com/apple/swift-configuration", from: "1.0.0",
            traits: [.defaults, "YAML"]),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.0.0"),
    ]
    targets += [
        .target(
            name: "EventSubscription",
            dependencies: ["MixModel", .product(name: "Crypto", package: "swift-crypto")], swiftSettings: strict),
        .target(
            name: "ObjectStorage",
            dependencies: ["TextFormats", .product(name: "Crypto", package: "swift-crypto")], swiftSettings: strict),
        .target(
            name: "TaskStore",
            dependencies: [
                "MixModel", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "PostgreSQLStore", dependencies: ["CLibPQ", "MixModel", "TaskStore"], swiftSettings: strict),
        .target(
            name: "RoomService",
            dependencies: [
                "ChildProcesses", "EventSubscription", "TaskStore", "MixModel", "MediaFormats", "LayoutEngine",
                "ObjectStorage", "RoomChannel",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "HTTPInterface",
            dependencies: [
                "CZlib", "RoomService", "SocketIO",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(name: "CEmbeddedFiles"),
        .executableTarget(
            name: "MixOrchestrator",
            dependencies: [
                "CEmbeddedFiles", "HTTPInterface", "PostgreSQLStore",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict),
        .target(
            name: "StoreSupport", dependencies: ["TestSupport"], path: "Tests/StoreSupport", swiftSettings: strict),
        .testTarget(
            name: "EventSubscriptionTests", dependencies: ["EventSubscription", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ObjectStorageTests", dependencies: ["ObjectStorage", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "TaskStoreTests",
            dependencies: [
                "PostgreSQLStore", "StoreSupport", "TaskStore", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(name: "RoomServiceTests", dependencies: ["RoomService", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "HTTPInterfaceTests",
            dependencies: [
                "HTTPInterface", "SocketIO", "TestSupport",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MixOrchestratorTests",
            dependencies: [
                "ChildProcesses", "HTTPInterface", "MixOrchestrator", "PostgreSQLStore", "RoomService", "StoreSupport",
                "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Yams", package: "Yams"),
            ],
            exclude: ["EarlierData"],
            swiftSettings: strict),
    ]
}

if only == "bench" {
    targets += [
        .target(name: "Allocations", path: "Benchmarks/Allocations"),
        .executableTarget(
            name: "PathCounts",
            dependencies: [
                "Allocations", "EventSubscription", "LayoutEngine", "MediaFormats", "MixModel", "ProgramSplicer",
                "RTMP",
            ],
            path: "Benchmarks/Counts", swiftSettings: strict),
        .executableTarget(
            name: "Benchmarks",
            dependencies: ["LayoutEngine", "MediaFormats", "MixModel", "ProgramSplicer", "TestSupport"],
            path: "Benchmarks/Sources", swiftSettings: strict),
        .executableTarget(
            name: "ServiceBenchmarks",
            dependencies: [
                "MixModel", "StoreSupport", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Benchmarks/Service", swiftSettings: strict),
    ]
}

if only == "fuzz" {
    targets += [
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "EventSubscription", "LayoutEngine", "MediaFormats", "MediaSupport", "MixModel", "ProgramSplicer",
                "RTMP",
                "TestSupport",
            ],
            path: "Fuzzing/Targets", swiftSettings: strict)
    ]
}

if only == "all" {
    targets += [
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "ChildProcesses", "GStreamerKit", "MixModel", "PostgreSQLStore", "ProgramMixer", "ProgramRelay",
                "ProgramSplicer", "RTMP", "StoreSupport", "TaskStore", "TestSupport", "ViewerProbe", "WebRTCSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: strict)
    ]
}

let package = Package(
    name: "co-streaming-mixer",
    platforms: [.macOS(.v15)],
    products: products,
    dependencies: dependencies,
    targets: targets
)
