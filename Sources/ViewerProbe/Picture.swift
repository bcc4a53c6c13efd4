/// A decoded picture in 8-bit 4:2:0, planar: luma, Cb, Cr, without padding.
struct Picture: Sendable {
    let width: Int
    let height: Int
    let bytes: [UInt8]

    /// Creates a picture; `nil` unless `bytes` are exactly one of this size.
    init?(width: Int, height: Int, bytes: [UInt8]) {
        guard width > 0, height > 0, bytes.count == Picture.byteCount(width: width, height: height) else { return nil }
        self.width = width
        self.height = height
        self.bytes = bytes
    }

    static func byteCount(width: Int, height: Int) -> Int {
        width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2)
    }

    /// Returns the mean of the luma samples of an area, from a grid of at most 6 × 6 of them; `nil` if the area is not
    /// wholly inside the picture.
    func meanLuma(x: Double, y: Double, width: Double, height: Double) -> Double? {
        mean(plane: 0, stride: self.width, rows: self.height, x: x, y: y, width: width, height: height)
    }

    /// Returns the mean colour of an area; `nil` if the area is not wholly inside the picture.
    func meanColour(x: Double, y: Double, width: Double, height: Double) -> ColourSample? {
        let (columns, rows) = ((self.width + 1) / 2, (self.height + 1) / 2)
        let luma = self.width * self.height
        func chroma(_ plane: Int) -> Double? {
            mean(
                plane: plane, stride: columns, rows: rows, x: x / 2, y: y / 2, width: width / 2, height: height / 2)
        }
        guard let y = meanLuma(x: x, y: y, width: width, height: height), let blue = chroma(luma),
            let red = chroma(luma + columns * rows)
        else { return nil }
        return ColourSample(luma: y, blue: blue, red: red)
    }

    private func mean(
        plane: Int, stride: Int, rows: Int, x: Double, y: Double, width: Double, height: Double
    ) -> Double? {
        guard x >= 0, y >= 0, x + width <= Double(stride), y + height <= Double(rows), width >= 1, height >= 1 else {
            return nil
        }
        return bytes.withUnsafeBufferPointer { buffer in
            let columns = min(6, Int(width))
            let lines = min(6, Int(height))
            var sum = 0
            for line in 0..<lines {
                let row = min(rows - 1, Int(y + (Double(line) + 0.5) * height / Double(lines)))
                for column in 0..<columns {
                    let sample = min(stride - 1, Int(x + (Double(column) + 0.5) * width / Double(columns)))
                    sum += Int(buffer[plane + row * stride + sample])
                }
            }
            return Double(sum) / Double(lines * columns)
        }
    }

    /// Whether no part of the picture is brighter than nearly black.
    var isBlack: Bool {
        bytes.withUnsafeBufferPointer { buffer in
            for row in Swift.stride(from: height / 32, to: height, by: max(1, height / 16)) {
                for column in Swift.stride(from: width / 32, to: width, by: max(1, width / 16))
                where buffer[row * width + column] > 32 {
                    return false
                }
            }
            return true
        }
    }
}
