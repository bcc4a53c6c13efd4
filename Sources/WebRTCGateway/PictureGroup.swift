/// The pictures since the last IDR, for peers that begin. Pure.
///
/// A group that becomes too large is let go: those who begin then wait for the next IDR.
struct PictureGroup: Sendable {
    /// Most that is kept.
    static let most = (pictures: 600, bytes: 8 << 20)

    /// Begins with an IDR; empty if none has come, or the group was too large.
    private(set) var pictures: [WebRTCPicture] = []
    private var bytes = 0

    mutating func append(_ picture: WebRTCPicture) {
        if picture.isIDR { (pictures, bytes) = ([], 0) }
        guard picture.isIDR || !pictures.isEmpty else { return }
        pictures.append(picture)
        bytes += picture.bytes.count
        if pictures.count > Self.most.pictures || bytes > Self.most.bytes { (pictures, bytes) = ([], 0) }
    }
}
