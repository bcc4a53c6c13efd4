/// A frame of a program as a viewer sees it.
struct ViewedFrame {
    var isVideo: Bool
    var isKeyframe: Bool
    /// Timestamp in ms.
    var timestamp: UInt32
}

/// Reads one viewer's bytes with as little work as possible, because it takes processor time from the service on the
/// same cores.
struct ViewerStream {
    enum Kind: Equatable {
        /// FLV as a relay sends it.
        case flv
        /// FLV over HTTP/1.1, with whole tags in each chunk.
        case httpFLV
        /// RTMP; `ViewerSwarm` does the simple handshake.
        case rtmp
    }

    private let kind: Kind
    private var pending: [UInt8] = []
    private var hasBegun = false
    /// Chunk size of RTMP in bytes (Adobe RTMP 1.0, §5.3).
    private var chunkSize = 128
    private var messages: [Int: (timestamp: UInt32, length: Int, type: UInt8, done: Int, first: (UInt8, UInt8))] = [:]

    init(_ kind: Kind) { self.kind = kind }

    mutating func push(_ bytes: UnsafeRawBufferPointer, onFrame: (ViewedFrame) -> Void) {
        pending.append(contentsOf: bytes)
        let used = pending.withUnsafeBytes { buffer in
            switch kind {
            case .flv: flv(buffer, onFrame)
            case .httpFLV: http(buffer, onFrame)
            case .rtmp: 0
            }
        }
        if kind == .rtmp {
            let copy = pending
            let used = copy.withUnsafeBytes { rtmp($0, onFrame) }
            pending.removeFirst(used)
        } else if used == pending.count {
            pending.removeAll(keepingCapacity: true)
        } else {
            pending.removeFirst(used)
        }
    }

    private mutating func flv(_ bytes: UnsafeRawBufferPointer, _ onFrame: (ViewedFrame) -> Void) -> Int {
        var at = 0
        if !hasBegun {
            guard bytes.count >= 13 else { return 0 }
            hasBegun = true
            at = 13
        }
        return at + Self.tags(UnsafeRawBufferPointer(rebasing: bytes[at...]), onFrame)
    }

    private static func tags(_ bytes: UnsafeRawBufferPointer, _ onFrame: (ViewedFrame) -> Void) -> Int {
        var at = 0
        while bytes.count - at >= 11 {
            let size = Int(bytes[at + 1]) << 16 | Int(bytes[at + 2]) << 8 | Int(bytes[at + 3])
            guard bytes.count - at >= size + 15 else { break }
            let low = UInt32(bytes[at + 4]) << 16 | UInt32(bytes[at + 5]) << 8 | UInt32(bytes[at + 6])
            frame(
                bytes[at], UInt32(bytes[at + 7]) << 24 | low, size > 1 ? (bytes[at + 11], bytes[at + 12]) : (0, 0),
                onFrame)
            at += size + 15
        }
        return at
    }

    private static func frame(
        _ type: UInt8, _ timestamp: UInt32, _ first: (UInt8, UInt8), _ onFrame: (ViewedFrame) -> Void
    ) {
        guard type == 8 || type == 9, first.1 == 1 else { return }
        onFrame(
            ViewedFrame(isVideo: type == 9, isKeyframe: type == 9 && first.0 >> 4 == 1, timestamp: timestamp))
    }

    private mutating func http(_ bytes: UnsafeRawBufferPointer, _ onFrame: (ViewedFrame) -> Void) -> Int {
        var at = 0
        if !hasBegun {
            guard
                let end = (0..<max(bytes.count - 3, 0)).first(where: { index in
                    bytes[index] == 13 && bytes[index + 1] == 10 && bytes[index + 2] == 13 && bytes[index + 3] == 10
                })
            else { return 0 }
            hasBegun = true
            at = end + 4
        }
        while true {
            var size = 0
            var start = at
            while start < bytes.count, bytes[start] != 13 {
                let digit = Int(bytes[start])
                size = size << 4 | (digit > 57 ? digit | 0x20 - 87 : digit - 48)
                start += 1
            }
            start += 2
            guard bytes.count >= start + size + 2 else { return at }
            var content = bytes[start..<start + size]
            if content.first == 0x46 { content = content.dropFirst(13) }
            _ = Self.tags(UnsafeRawBufferPointer(rebasing: content), onFrame)
            at = start + size + 2
        }
    }

    private mutating func rtmp(_ bytes: UnsafeRawBufferPointer, _ onFrame: (ViewedFrame) -> Void) -> Int {
        var at = 0
        while at < bytes.count {
            let format = Int(bytes[at] >> 6)
            let short = Int(bytes[at] & 0x3F)
            var next = at + (short == 0 ? 2 : short == 1 ? 3 : 1)
            let size = [11, 7, 3, 0][format]
            guard bytes.count >= next + size else { break }
            let stream = short > 1 ? short : Int(bytes[at + 1]) + 64
            var message = messages[stream] ?? (0, 0, 0, 0, (0, 0))
            var isExtended = false
            if size >= 3 {
                let time = UInt32(bytes[next]) << 16 | UInt32(bytes[next + 1]) << 8 | UInt32(bytes[next + 2])
                isExtended = time == 0xFF_FFFF
                if !isExtended { message.timestamp = format == 0 ? time : message.timestamp &+ time }
            }
            if size >= 7 {
                message.length = Int(bytes[next + 3]) << 16 | Int(bytes[next + 4]) << 8 | Int(bytes[next + 5])
                message.type = bytes[next + 6]
            }
            next += size + (isExtended ? 4 : 0)
            let part = min(message.length - message.done, chunkSize)
            guard bytes.count >= next + part else { break }
            if message.done == 0, part > 1 { message.first = (bytes[next], bytes[next + 1]) }
            if message.type == 1, part >= 4 {
                chunkSize = (0..<4).reduce(0) { $0 << 8 | Int(bytes[next + $1]) }
            }
            message.done += part
            if message.done >= message.length {
                message.done = 0
                Self.frame(message.type, message.timestamp, message.first, onFrame)
            }
            messages[stream] = message
            at = next + part
        }
        return at
    }
}
