/* C's float.h: its constants are built in. */
#pragma once
