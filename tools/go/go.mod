// SPDX-License-Identifier: LGPL-2.1-or-later
module crabtree

go 1.19
